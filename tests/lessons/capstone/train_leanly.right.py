# Right answers to train_leanly.

# %% answer="checkpointed"
def train_leanly(model, batches, learning_rate):
    from torch.utils.checkpoint import checkpoint

    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    options = torch.nn.LinearCrossEntropyOptions()
    for batch in batches:
        for row in batch.split(1):
            tokens = row[:, :-1]
            states = model.token_embedding(tokens) + model.position_embedding.weight[: tokens.shape[1]]
            for block in model.blocks:
                states = checkpoint(block, states, use_reentrant=False)
            states = model.final_norm(states).flatten(0, 1)
            loss = F.linear_cross_entropy(states, model.head.weight, row[:, 1:].flatten(), options=options)
            (loss / len(batch)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="every_second_block"
def train_leanly(model, batches, learning_rate):
    from torch.utils.checkpoint import checkpoint

    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    options = torch.nn.LinearCrossEntropyOptions()
    for batch in batches:
        for row in batch.split(1):
            states = model.dropout(
                model.token_embedding(row[:, :-1]) + model.position_embedding.weight[: row.shape[1] - 1]
            )
            for index, block in enumerate(model.blocks):
                states = checkpoint(block, states, use_reentrant=False) if index % 2 else block(states)
            states = model.final_norm(states).flatten(0, 1)
            loss = F.linear_cross_entropy(states, model.head.weight, row[:, 1:].flatten(), options=options)
            (loss / len(batch)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="adafactor"
def train_leanly(model, batches, learning_rate):
    from transformers import Adafactor

    optimizer = Adafactor(model.parameters(), lr=learning_rate, scale_parameter=False, relative_step=False)
    options = torch.nn.LinearCrossEntropyOptions()
    for batch in batches:
        for row in batch.split(1):
            states, targets = states_of(model, row[:, :-1]).flatten(0, 1), row[:, 1:].flatten()
            loss = F.linear_cross_entropy(states, model.head.weight, targets, reduction="sum", options=options)
            (loss / batch[:, 1:].numel()).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="chunks_by_hand_in_16_bits"
def train_leanly(model, batches, learning_rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    for batch in batches:
        count = batch[:, 1:].numel()
        for row in batch.split(1):
            with torch.autocast(device.type, torch.bfloat16):
                states = states_of(model, row[:, :-1]).flatten(0, 1)
            cut = states.detach().float().requires_grad_()
            for part, targets in zip(cut.split(64), row[:, 1:].flatten().split(64), strict=True):
                (F.cross_entropy(model.head(part), targets, reduction="sum") / count).backward()
            states.backward(cut.grad.to(states.dtype))
        optimizer.step()
        optimizer.zero_grad()
