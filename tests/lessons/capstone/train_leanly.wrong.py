# Wrong answers to train_leanly.

# %% answer="plain_baseline" code="nothing_leaner"
# Source: the plain run
def train_leanly(model, batches, learning_rate):
    train_plain(model, batches, learning_rate)


# %% answer="hard_coded" code="other_number_of_updates"
# Source: the two batches of the notebook's run
def train_leanly(model, batches, learning_rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    for index in range(2):
        for row in batches[index].split(1):
            (mean_loss(model, row) / len(batches[index])).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="copied_from_lesson" code="logits_whole"
# Source: accumulation of lesson 02, row by row
def train_leanly(model, batches, learning_rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    for batch in batches:
        for row in batch.split(1):
            (mean_loss(model, row) / len(batch)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="library_shortcut" code="all_rows_at_once"
# Source: the chunked loss alone
def train_leanly(model, batches, learning_rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    options = torch.nn.LinearCrossEntropyOptions()
    for batch in batches:
        states, targets = states_of(model, batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()
        F.linear_cross_entropy(states, model.head.weight, targets, options=options).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% edit="not_divided" code="gradient_not_averaged"
# Source: the mean of each row, added up
# -             (loss / batch[:, 1:].numel()).backward()
# +             (loss / row[:, 1:].numel()).backward()

# %% edit="divided_twice" code="gradient_divided_twice"
# Source: the mean of the loss, and the mean over rows and tokens
# -             (loss / batch[:, 1:].numel()).backward()
# +             (loss / batch[:, 1:].numel() / len(batch)).backward()

# %% edit="step_for_each_row" code="update_for_each_micro_batch"
# Source: step and zero_grad in the inner loop
# -         optimizer.step()
# -         optimizer.zero_grad()
# +             optimizer.step()
# +             optimizer.zero_grad()

# %% edit="half_the_batch" code="part_of_the_batch"
# Source: a smaller batch without accumulation
# -         for row in batch.split(1):
# +         for row in batch[: len(batch) // 2].split(1):

# %% edit="never_cleared" code="gradients_kept"
# Source: no zero_grad
# -         optimizer.zero_grad()

# %% edit="same_token" code="targets_not_shifted"
# Source: targets that are the inputs
# -             states, targets = states_of(model, row[:, :-1]).flatten(0, 1), row[:, 1:].flatten()
# +             states, targets = states_of(model, row[:, :-1]).flatten(0, 1), row[:, :-1].flatten()

# %% edit="sgd" code="plain_sgd"
# Source: the optimizer with the smallest state
# -     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)

# %% edit="default_rate" code="learning_rate_too_small"
# Source: the optimizer's own default, divided
# -     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate / 10)

# %% edit="losses_added" code="graphs_of_all_micro_batches"
# Source: one backward for the sum of all losses
# -         for row in batch.split(1):
# +         total = 0
# +         for row in batch.split(1):
# ...
# -             (loss / batch[:, 1:].numel()).backward()
# +             total = total + loss / batch[:, 1:].numel()
# -         optimizer.step()
# +         total.backward()
# +         optimizer.step()


# %% answer="everything_twice" code="everything_computed_again"
# Source: checkpoints within checkpoints
def train_leanly(model, batches, learning_rate):
    from torch.utils.checkpoint import checkpoint

    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    for batch in batches:
        for row in batch.split(1):

            def inner(states):
                for block in model.blocks:
                    states = checkpoint(block, states, use_reentrant=False)
                return states

            tokens = row[:, :-1]
            states = model.token_embedding(tokens) + model.position_embedding.weight[: tokens.shape[1]]
            states = model.final_norm(checkpoint(inner, states, use_reentrant=False)).flatten(0, 1)
            options = torch.nn.LinearCrossEntropyOptions()
            loss = F.linear_cross_entropy(states, model.head.weight, row[:, 1:].flatten(), options=options)
            (loss / len(batch)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="positions_left_out" code="positions_forgotten"
# Source: the blocks on the token embedding alone
def train_leanly(model, batches, learning_rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    for batch in batches:
        for row in batch.split(1):
            states = model.token_embedding(row[:, :-1])
            for block in model.blocks:
                states = block(states)
            logits = model.head(model.final_norm(states)).flatten(0, 1)
            (F.cross_entropy(logits, row[:, 1:].flatten()) / len(batch)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="norm_left_out" code="last_norm_forgotten"
# Source: the head on the last block's states
def train_leanly(model, batches, learning_rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    for batch in batches:
        for row in batch.split(1):
            states = model.token_embedding(row[:, :-1]) + model.position_embedding.weight[: row.shape[1] - 1]
            for block in model.blocks:
                states = block(states)
            (F.cross_entropy(model.head(states).flatten(0, 1), row[:, 1:].flatten()) / len(batch)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="torch_adafactor" code="rate_relative_to_weights"
# Source: torch.optim.Adafactor with the rate of AdamW; the page on the front recommends Adafactor
def train_leanly(model, batches, learning_rate):
    optimizer = torch.optim.Adafactor(model.parameters(), lr=learning_rate)
    options = torch.nn.LinearCrossEntropyOptions()
    for batch in batches:
        for row in batch.split(1):
            states, targets = states_of(model, row[:, :-1]).flatten(0, 1), row[:, 1:].flatten()
            loss = F.linear_cross_entropy(states, model.head.weight, targets, reduction="sum", options=options)
            (loss / batch[:, 1:].numel()).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% edit="bfloat16_weights" code="weights_converted"
# Source: model.to(torch.bfloat16), as for inference
# +     model.to(torch.bfloat16)
#       optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)


# %% edit="embedding_frozen" code="parameters_frozen"
# Source: parameter-efficient training, without an adapter
# +     model.token_embedding.requires_grad_(False)
#       optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)

# %% edit="one_checkpoint" code="everything_computed_again"
# Source: one checkpoint around the whole model, except for its head
# -             states, targets = states_of(model, row[:, :-1]).flatten(0, 1), row[:, 1:].flatten()
# +             run = torch.utils.checkpoint.checkpoint
# +             states = run(states_of, model, row[:, :-1], use_reentrant=False).flatten(0, 1)
# +             targets = row[:, 1:].flatten()

# %% edit="loss_logged" code="trained_more_than_once"
# Source: the loss of the batch before its update, for a log
#       for batch in batches:
# +         with torch.no_grad():
# +             print(f"loss {sum(mean_loss(model, row) for row in batch.split(1)) / len(batch):.3f}")
