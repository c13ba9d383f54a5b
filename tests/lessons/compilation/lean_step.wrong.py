# Wrong answers to lean_step.


# %% answer="plain_baseline" code="padded_to_the_context"
# Source: the slow step as it is
def lean_step(model, optimizer, texts):
    slow_step(model, optimizer, texts)


# %% edit="hard_coded" code="padded_to_the_longest_text" seed=20011
# Source: the long texts of the notebook, by their places in the list
# -         group = [text for text in texts if (2 * len(text) > longest) == is_long]
# +         places = [place for place, length in enumerate(make_lean_case().lengths) if length > 100]
# +         group = [text for place, text in enumerate(texts) if (place in places) == is_long]

# %% edit="copied_from_lesson" code="scores_held"
# Source: the attention of the slow step is kept
# -             states = block(states)
# +             states = states + attend(block, states)
# +             states = states + block.feed_forward(block.feed_forward_norm(states))

# %% edit="no_options" code="logits_held"
# Source: the fused loss without options, which is the plain one
# -         loss = F.linear_cross_entropy(hidden, model.head.weight, targets.flatten(), reduction="sum", options=options)
# +         loss = F.linear_cross_entropy(hidden, model.head.weight, targets.flatten(), reduction="sum")

# %% edit="both_left" code="scores_and_logits_held"
# Source: only the padding is found
# -             states = block(states)
# +             states = states + attend(block, states)
# +             states = states + block.feed_forward(block.feed_forward_norm(states))
# ...
# -         loss = F.linear_cross_entropy(hidden, model.head.weight, targets.flatten(), reduction="sum", options=options)
# +         loss = F.cross_entropy(model.head(hidden), targets.flatten(), reduction="sum")

# %% edit="longest" code="padded_to_the_longest_text"
# Source: dynamic padding, where one text is long
# -         group = [text for text in texts if (2 * len(text) > longest) == is_long]
# +         group = texts if is_long else []

# %% edit="halves" code="padding_left"
# Source: sorted, and cut in the middle
# -         group = [text for text in texts if (2 * len(text) > longest) == is_long]
# +         middle = len(texts) // 2
# +         group = sorted(texts, key=len)[middle:] if is_long else sorted(texts, key=len)[:middle]


# %% answer="text_by_text" code="one_text_at_a_time"
# Source: gradient accumulation with one row, which has no padding
def lean_step(model, optimizer, texts):
    counted, options = sum(len(text) - 1 for text in texts), torch.nn.LinearCrossEntropyOptions()
    for text in texts:
        states = model.token_embedding(text[None, :-1]) + model.position_embedding.weight[: len(text) - 1]
        for block in model.blocks:
            states = block(states)
        hidden = model.final_norm(states)[0]
        loss = F.linear_cross_entropy(hidden, model.head.weight, text[1:], reduction="sum", options=options)
        (loss / counted).backward()
    optimizer.step()
    optimizer.zero_grad()


# %% edit="mean_of_means" code="tokens_weighed_unequally"
# Source: the mean of the groups' means
# -         loss = F.linear_cross_entropy(hidden, model.head.weight, targets.flatten(), reduction="sum", options=options)
# -         (loss / counted).backward()
# +         loss = F.linear_cross_entropy(hidden, model.head.weight, targets.flatten(), options=options)
# +         (loss / 2).backward()

# %% edit="undivided" code="sum_for_the_mean"
# Source: the sum of the groups' sums
# -         (loss / counted).backward()
# +         loss.backward()

# %% edit="tokens_counted" code="divided_by_another_count"
# Source: the last token of a text has no target
# -     counted, longest = sum(map(len, texts)) - len(texts), max(map(len, texts))
# +     counted, longest = sum(map(len, texts)), max(map(len, texts))

# %% edit="two_steps" code="several_updates"
# Source: a step for each batch
# -         (loss / counted).backward()
# +         (loss / counted).backward()
# +         optimizer.step()
# +         optimizer.zero_grad()

# %% edit="not_causal" code="future_attended"
# Source: scaled_dot_product_attention without is_causal
# -             states = block(states)
# +             rows, time, width = states.shape
# +             mixed = block.attention.query_key_value(block.attention_norm(states))
# +             parts = mixed.view(rows, time, 3, block.attention.heads, -1).permute(2, 0, 3, 1, 4)
# +             mixed = F.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(states.shape)
# +             states = states + block.attention.output(mixed)
# +             states = states + block.feed_forward(block.feed_forward_norm(states))

# %% edit="zeros_trained" code="padding_in_the_gradient"
# Source: padding with token 0 for inputs and targets
# -         padded = torch.nn.utils.rnn.pad_sequence(group, batch_first=True, padding_value=-100)
# -         tokens, targets = padded[:, :-1].clamp(min=0), padded[:, 1:]
# +         padded = torch.nn.utils.rnn.pad_sequence(group, batch_first=True)
# +         tokens, targets = padded[:, :-1], padded[:, 1:]

# %% edit="own_targets" code="targets_not_shifted"
# Source: labels as transformers takes them, which it shifts itself
# -         tokens, targets = padded[:, :-1].clamp(min=0), padded[:, 1:]
# +         tokens, targets = padded.clamp(min=0), padded

# %% edit="autocast" code="computed_in_16_bit"
# Source: fewer bits hold fewer bytes
# -             states = block(states)
# +             with torch.autocast(device.type, torch.bfloat16):
# +                 states = block(states)


# %% answer="packed_with_a_mask" code="square_of_all_texts"
# Source: packing with a block-diagonal mask
def lean_step(model, optimizer, texts):
    tokens, targets = torch.cat([text[:-1] for text in texts])[None], torch.cat([text[1:] for text in texts])
    positions = torch.cat([torch.arange(len(text) - 1, device=text.device) for text in texts])
    states = model.token_embedding(tokens) + model.position_embedding(positions)
    mask = torch.block_diag(*[torch.ones(len(text) - 1, len(text) - 1) for text in texts]).tril().bool()
    for block in model.blocks:
        states = block(states, mask.to(states.device))
    options = torch.nn.LinearCrossEntropyOptions()
    F.linear_cross_entropy(model.final_norm(states)[0], model.head.weight, targets, options=options).backward()
    optimizer.step()
    optimizer.zero_grad()


# %% edit="left_padding" code="padding_in_the_gradient"
# Source: padding on the left, as tokenizers do for generation
# -         padded = torch.nn.utils.rnn.pad_sequence(group, batch_first=True, padding_value=-100)
# +         padded = torch.nn.utils.rnn.pad_sequence(group, batch_first=True, padding_value=-100, padding_side="left")

# %% edit="small_chunks" code="chunks_too_small"
# Source: the smaller the chunk, the fewer bytes
# -         loss = F.linear_cross_entropy(hidden, model.head.weight, targets.flatten(), reduction="sum", options=options)
# +         parts = zip(hidden.split(4), targets.flatten().split(4), strict=True)
# +         loss = sum(F.cross_entropy(model.head(rows), wanted, reduction="sum") for rows, wanted in parts)

# %% edit="gradients_stay" code="gradients_left"
# Source: zero_grad at the begin of the step
# -     optimizer.step()
# -     optimizer.zero_grad()
# +     optimizer.step()

# %% edit="one_long_text" code="padding_left"
# Source: the longest text alone
# -         group = [text for text in texts if (2 * len(text) > longest) == is_long]
# +         group = sorted(texts, key=len)[-1:] if is_long else sorted(texts, key=len)[:-1]

# %% edit="plain_logits" code="logits_held"
# Source: the logits of a group are taken for small
# -         loss = F.linear_cross_entropy(hidden, model.head.weight, targets.flatten(), reduction="sum", options=options)
# +         real = targets.flatten() >= 0
# +         loss = F.cross_entropy(model.head(hidden[real]), targets.flatten()[real], reduction="sum")

# %% edit="truncated" code="tokens_left_out"
# Source: truncation, as tokenizers do it
# -     counted, longest = sum(map(len, texts)) - len(texts), max(map(len, texts))
# +     texts = [text[:64] for text in texts]
# +     counted, longest = sum(map(len, texts)) - len(texts), max(map(len, texts))


# %% answer="packed" code="texts_attend_to_each_other"
# Source: packing without a mask
def lean_step(model, optimizer, texts):
    tokens, targets = torch.cat([text[:-1] for text in texts])[None], torch.cat([text[1:] for text in texts])
    positions = torch.cat([torch.arange(len(text) - 1, device=text.device) for text in texts])
    states = model.token_embedding(tokens) + model.position_embedding(positions)
    for block in model.blocks:
        states = block(states)
    options = torch.nn.LinearCrossEntropyOptions()
    F.linear_cross_entropy(model.final_norm(states)[0], model.head.weight, targets, options=options).backward()
    optimizer.step()
    optimizer.zero_grad()
