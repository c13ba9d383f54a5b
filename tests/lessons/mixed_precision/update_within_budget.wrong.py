# %% answer="plain_baseline" code="nothing_saved"
# Source: the plain update
# All rows run at once, and nothing is recomputed.
def update_within_budget(model, optimizer, tokens: torch.Tensor, targets: torch.Tensor) -> None:
    loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    loss.backward()
    optimizer.step()


# %% edit="hard_coded" code="divided_by_another_number" seed=20011
# Source: the rows of the visible case
# The loss is divided by 4, the rows of one case.
#           logits = model.head(model.final_norm(states))  # [1, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(tokens)
# +         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / 4


# %% answer="copied_from_lesson" code="activations_of_all_blocks_kept"
# Source: the lesson's forward in parts
# The rows are split, and all blocks keep their activations.
def update_within_budget(model, optimizer, tokens: torch.Tensor, targets: torch.Tensor) -> None:
    for row, target in zip(tokens.split(1), targets.split(1), strict=True):
        logits = forward_in_parts(model, row)
        (F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(tokens)).backward()
    optimizer.step()


# %% edit="library_shortcut" code="computed_in_16_bit"
# Source: autocast as a third tool
# The forward runs in bf16, and its gradient is another one.
#       for row, target in zip(tokens.split(1), targets.split(1), strict=True):  # [1, time] each
# +         autocast = torch.autocast(tokens.device.type, torch.bfloat16)
#           states = model.token_embedding(row) + model.position_embedding(positions)  # [1, time, width]
#           for block in model.blocks:
# -             states = checkpoint(block, states, use_reentrant=False)
# +             with autocast:
# +                 states = checkpoint(block, states, use_reentrant=False)

# %% edit="own_optimizer" code="another_optimizer"
# Source: a loop that makes its own optimizer, as the examples of a library do
# The step is that of a new optimizer, and not of the given one.
#           loss.backward()
# -     optimizer.step()
# +     torch.optim.SGD(model.parameters(), lr=0.1).step()

# %% edit="not_averaged" code="gradient_not_averaged"
# Source: the loss of one row, undivided
# The sum of the rows' gradients is taken for their mean.
#           logits = model.head(model.final_norm(states))  # [1, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(tokens)
# +         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())

# %% edit="losses_summed" code="graphs_kept"
# Source: a sum of all losses
# All graphs are kept until one backward.
#       positions = torch.arange(tokens.shape[1], device=tokens.device)
# +     total = 0.0
# ...
#           loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(tokens)
# -         loss.backward()
# +         total = total + loss
# +     total.backward()

# %% edit="cleared_between" code="cleared_within_group"
# Source: zero_grad inside the loop
# Only the last row's gradient is left.
#           loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(tokens)
# +         optimizer.zero_grad()

# %% edit="right_only_where_judged" code="peak_of_another_update"
# Source: an answer that knows the sizes of the check
# The long rows, whose peak is measured, get no update at all.
#       from torch.utils.checkpoint import checkpoint
# +     if tokens.shape[1] > 100:
# +         return


# %% answer="mean_of_uneven_parts" code="rows_weighed_unequally"
# Source: pairs of rows in an odd batch
# Each part counts the same, however many rows it has.
def update_within_budget(model, optimizer, tokens: torch.Tensor, targets: torch.Tensor) -> None:
    from torch.utils.checkpoint import checkpoint

    positions = torch.arange(tokens.shape[1], device=tokens.device)
    parts = tokens.split(2)
    for rows, target in zip(parts, targets.split(2), strict=True):
        states = model.token_embedding(rows) + model.position_embedding(positions)
        for block in model.blocks:
            states = checkpoint(block, states, use_reentrant=False)
        logits = model.head(model.final_norm(states))
        (F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(parts)).backward()
    optimizer.step()


# %% edit="step_for_each_row" code="several_updates"
# Source: the step inside the loop
# Every row has an update of its own.
#           loss.backward()
# -     optimizer.step()
# +         optimizer.step()
# +         optimizer.zero_grad()

# %% edit="sum_of_tokens" code="sum_not_divided"
# Source: the sum that cross_entropy offers
# The summed loss is not divided by the tokens.
#           logits = model.head(model.final_norm(states))  # [1, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(tokens)
# +         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="sum")


# %% answer="whole_model_checkpointed" code="tensors_kept"
# Source: one checkpoint around everything
# The recomputation keeps what the forward did not.
def update_within_budget(model, optimizer, tokens: torch.Tensor, targets: torch.Tensor) -> None:
    from torch.utils.checkpoint import checkpoint

    for row, target in zip(tokens.split(1), targets.split(1), strict=True):
        logits = checkpoint(model, row, use_reentrant=False)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(tokens)
        loss.backward()
    optimizer.step()


# %% edit="half_of_the_rows" code="too_many_rows_at_once"
# Source: micro-batches that are too large
# Two rows run at once.
#       positions = torch.arange(tokens.shape[1], device=tokens.device)
# -     for row, target in zip(tokens.split(1), targets.split(1), strict=True):  # [1, time] each
# -         states = model.token_embedding(row) + model.position_embedding(positions)  # [1, time, width]
# +     for rows, target in zip(tokens.split(2), targets.split(2), strict=True):
# +         states = model.token_embedding(rows) + model.position_embedding(positions)
# ...
#           logits = model.head(model.final_norm(states))  # [1, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(tokens)
# +         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) * len(rows) / len(tokens)

# %% edit="half_model" code="weights_converted"
# Source: true 16-bit training taken for mixed precision
# The weights are turned into fp16 to save memory.
#       from torch.utils.checkpoint import checkpoint
# +     model.half()


# %% answer="checkpointing_only" code="whole_batch_at_once"
# Source: one tool of two
# The blocks are recomputed, and all rows run at once.
def update_within_budget(model, optimizer, tokens: torch.Tensor, targets: torch.Tensor) -> None:
    from torch.utils.checkpoint import checkpoint

    positions = torch.arange(tokens.shape[1], device=tokens.device)
    states = model.token_embedding(tokens) + model.position_embedding(positions)
    for block in model.blocks:
        states = checkpoint(block, states, use_reentrant=False)
    loss = F.cross_entropy(model.head(model.final_norm(states)).flatten(0, 1), targets.flatten())
    loss.backward()
    optimizer.step()
