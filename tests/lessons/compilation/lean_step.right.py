# Right answers to lean_step.

# %% answer="chunks_by_checkpoint_and_own_attention_call"
def lean_step(model, optimizer, texts):
    from torch.utils.checkpoint import checkpoint

    def summed(hidden, targets):
        return F.cross_entropy(model.head(hidden), targets, reduction="sum")

    def attended(block, states):
        rows, time, width = states.shape
        mixed = block.attention.query_key_value(block.attention_norm(states)).view(rows, time, 3, -1, width)
        parts = (part.unflatten(-1, (block.attention.heads, -1)).transpose(1, 2) for part in mixed.squeeze(3).unbind(2))
        result = F.scaled_dot_product_attention(*parts, is_causal=True)
        return states + block.attention.output(result.transpose(1, 2).flatten(2))

    counted, half = sum(len(text) - 1 for text in texts), max(map(len, texts)) // 2
    for group in ([text for text in texts if len(text) <= half], [text for text in texts if len(text) > half]):
        if not group:
            continue
        width = max(len(text) for text in group)
        tokens = torch.stack([F.pad(text, (0, width - len(text))) for text in group])
        targets = torch.stack([F.pad(text[1:], (0, width + 1 - len(text)), value=-100) for text in group])
        states = model.token_embedding(tokens) + model.position_embedding.weight[:width]
        for block in model.blocks:
            states = attended(block, states)
            states = states + block.feed_forward(block.feed_forward_norm(states))
        hidden = model.final_norm(states).flatten(0, 1)
        parts = zip(hidden.split(64), targets.flatten().split(64), strict=True)
        loss = sum(checkpoint(summed, rows, wanted, use_reentrant=False) for rows, wanted in parts)
        (loss / counted).backward()
    optimizer.step()
    optimizer.zero_grad()


# %% answer="three_buckets_own_loss"
class HeadLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets):
        gradients, of_weight, loss = torch.empty_like(hidden), torch.zeros_like(weight), hidden.new_zeros(())
        for part in torch.arange(len(hidden), device=hidden.device).split(96):
            logits = hidden[part] @ weight.T
            loss += F.cross_entropy(logits, targets[part], reduction="sum")
            gradient = logits.softmax(dim=1)
            gradient[torch.arange(len(part)), targets[part].clamp(min=0)] -= 1
            gradient *= (targets[part] >= 0)[:, None]
            gradients[part] = gradient @ weight
            of_weight += gradient.T @ hidden[part]
        ctx.save_for_backward(gradients, of_weight)
        return loss

    @staticmethod
    def backward(ctx, upstream):
        return (*(upstream * gradient for gradient in ctx.saved_tensors), None)


def lean_step(model, optimizer, texts):
    counted = sum(len(text) - 1 for text in texts)
    buckets = {}
    for text in texts:
        buckets.setdefault(max(len(text), 33).bit_length(), []).append(text)
    for bucket in buckets.values():
        tokens = torch.nn.utils.rnn.pad_sequence(bucket, batch_first=True)
        targets = torch.nn.utils.rnn.pad_sequence([text[1:] for text in bucket], batch_first=True, padding_value=-100)
        positions = torch.arange(tokens.shape[1] - 1, device=tokens.device)
        states = model.token_embedding(tokens[:, :-1]) + model.position_embedding(positions)
        for block in model.blocks:
            states = block(states)
        hidden = model.final_norm(states).flatten(0, 1)
        (HeadLoss.apply(hidden, model.head.weight, targets.flatten()) / counted).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


# %% answer="head_taken_out_of_the_model"
def lean_step(model, optimizer, texts):
    counted = sum(len(text) - 1 for text in texts)
    head, model.head = model.head, torch.nn.Identity()
    try:
        half = max(map(len, texts)) / 2
        for group in filter(None, ([t for t in texts if len(t) > half], [t for t in texts if len(t) <= half])):
            tokens = torch.nn.utils.rnn.pad_sequence(group, batch_first=True)
            hidden = model(tokens[:, :-1])
            targets = [F.pad(text[1:], (0, tokens.shape[1] - len(text)), value=-100) for text in group]
            options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=64, chunking_method=None)
            loss = F.linear_cross_entropy(
                hidden.flatten(0, 1), head.weight, torch.cat(targets), reduction="sum", options=options
            )
            (loss / counted).backward()
    finally:
        model.head = head
    optimizer.step()
    optimizer.zero_grad()


# %% edit="one_backward_for_both_groups"
# -     for is_long in (True, False):
# +     total = 0
# +     for is_long in (True, False):
# ...
# -         (loss / counted).backward()
# +         total = total + loss / counted
# +     total.backward()
