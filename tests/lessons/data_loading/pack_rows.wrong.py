# Wrong answers to pack_rows.
# Not here: library_shortcut, because DataCollatorWithFlattening makes neither mask nor padding.

# %% answer="plain_baseline" code="plain_causal_mask"
# Source: texts joined, as for pre-training
def pack_rows(rows, time):
    tokens = F.pad(torch.cat(rows), (0, time - sum(map(len, rows))))
    positions = torch.cat([torch.arange(len(row)) for row in rows])
    positions = F.pad(positions, (0, time - len(positions)))
    targets = torch.cat([F.pad(row[1:], (0, 1), value=-100) for row in rows])
    targets = F.pad(targets, (0, time - len(targets)), value=-100)
    return tokens, positions, torch.ones(time, time, dtype=torch.bool).tril(), targets


# %% answer="hard_coded" code="raised_runtime_error" seed=20011
# Source: the borders of the visible texts
# Because: the sequence is not as long as the lengths that are written down
def pack_rows(rows, time):
    text = torch.tensor([0] * 5 + [1] * 3 + [2] * 4 + [3, 4])
    tokens = F.pad(torch.cat(rows), (0, time - sum(map(len, rows))))
    positions = torch.tensor([0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 3, 0, 0])
    mask = (text[:, None] == text) & torch.ones(time, time, dtype=torch.bool).tril()
    targets = tokens.roll(-1).masked_fill(text != text.roll(-1), -100)
    return tokens, positions, mask, targets


# %% answer="copied_from_lesson" code="positions_not_reset"
# Source: the cell above, which joins the texts
def pack_rows(rows, time):
    tokens = F.pad(torch.cat(rows), (0, time - sum(map(len, rows))))
    mask = torch.ones(time, time, dtype=torch.bool).tril()
    return tokens, torch.arange(time), mask, F.pad(tokens[1:], (0, 1), value=-100)


# %% edit="from_one" code="positions_from_one"
# Source: padding_idx + 1, as RoBERTa numbers positions
# -         positions[start:end] = torch.arange(len(row))
# +         positions[start:end] = torch.arange(1, len(row) + 1)

# %% edit="padding_numbered" code="positions_go_on_in_padding"
# Source: the padding as one more text
# -     return tokens, positions, mask, targets
# +     positions[start:] = torch.arange(time - start)
# +     return tokens, positions, mask, targets

# %% edit="not_causal" code="future_visible"
# Source: blocks of ones, as an encoder has them
# -         mask[start:end, start:end] = torch.ones(len(row), len(row), dtype=torch.bool).tril()
# +         mask[start:end, start:end] = True

# %% edit="upper_triangle" code="mask_transposed"
# Source: triu for tril
# -         mask[start:end, start:end] = torch.ones(len(row), len(row), dtype=torch.bool).tril()
# +         mask[start:end, start:end] = torch.ones(len(row), len(row), dtype=torch.bool).triu()

# %% edit="all_visible" code="too_much_visible"
# Source: no mask
# -     return tokens, positions, mask, targets
# +     return tokens, positions, torch.ones_like(mask), targets

# %% edit="inverted" code="mask_inverted"
# Source: nn.MultiheadAttention, where True hides
# -     return tokens, positions, mask, targets
# +     return tokens, positions, ~mask, targets

# %% edit="padding_blind" code="padding_sees_nothing"
# Source: a mask that starts with zeros
# -     mask = torch.eye(time, dtype=torch.bool, device=tokens.device)  # padding attends to itself
# +     mask = torch.zeros(time, time, dtype=torch.bool, device=tokens.device)

# %% edit="padding_block" code="padding_takes_part"
# Source: the padding as one more text
# -     return tokens, positions, mask, targets
# +     mask[start:, start:] = torch.ones(time - start, time - start, dtype=torch.bool).tril()
# +     return tokens, positions, mask, targets

# %% edit="across" code="target_across_the_border"
# Source: tokens shifted by one
# -         targets[start : end - 1] = row[1:]
# -         start = end
# +         start = end
# +     targets[: start - 1] = tokens[1:start]

# %% edit="labels_of_the_collator" code="targets_not_shifted"
# Source: DataCollatorWithFlattening, whose labels are shifted by the model
# -         targets[start : end - 1] = row[1:]
# +         targets[start + 1 : end] = row[1:]

# %% edit="rolled" code="target_where_nothing_follows"
# Source: torch.roll
# -         targets[start : end - 1] = row[1:]
# +         targets[start:end] = row.roll(-1)

# %% edit="zero_for_none" code="target_where_nothing_follows"
# Source: padding token as a target
# -     positions, targets = torch.zeros_like(tokens), torch.full_like(tokens, -100)
# +     positions, targets = torch.zeros_like(tokens), torch.zeros_like(tokens)

# %% edit="one_more_left_out" code="other_targets"
# Source: -100 at both sides of a border
# -         targets[start : end - 1] = row[1:]
# +         targets[start : end - 1] = row[1:]
# +         targets[start] = -100

# %% edit="three_values" code="no_four_tensors"
# Source: the targets forgotten
# -     return tokens, positions, mask, targets
# +     return tokens, positions, mask

# %% edit="float_mask" code="wrong_dtype"
# Source: an additive mask
# -     return tokens, positions, mask, targets
# +     return tokens, positions, torch.zeros(mask.shape).masked_fill(~mask, -1e9), targets

# %% edit="padding_sees_the_texts" code="padding_takes_part"
# Source: a causal mask where no text is
# -     return tokens, positions, mask, targets
# +     mask[start:] = True
# +     return tokens, positions, mask, targets

# %% edit="token_0_hidden" code="token_0_taken_for_padding"
# Source: attention_mask = tokens != pad_token_id
# -     return tokens, positions, mask, targets
# +     mask &= (tokens != 0) | torch.eye(time, dtype=torch.bool, device=tokens.device)
# +     return tokens, positions, mask, targets

# %% edit="token_0_no_target" code="token_0_taken_for_padding"
# Source: labels[labels == pad_token_id] = -100
# -     return tokens, positions, mask, targets
# +     targets[targets == 0] = -100
# +     return tokens, positions, mask, targets

# %% edit="strict_triangle" code="itself_hidden"
# Source: tril(-1) of a mask that is False elsewhere
# -     return tokens, positions, mask, targets
# +     return tokens, positions, mask.tril(-1), targets

# %% edit="longest_first" code="tokens_in_other_places"
# Source: first-fit decreasing, from the exercise on padding
# -     tokens = F.pad(torch.cat(rows), (0, time - sum(map(len, rows))))
# +     rows = sorted(rows, key=len, reverse=True)
# +     tokens = F.pad(torch.cat(rows), (0, time - sum(map(len, rows))))

# %% edit="window_of_three" code="too_little_visible"
# Source: a sliding window, as long contexts use it
# -         mask[start:end, start:end] = torch.ones(len(row), len(row), dtype=torch.bool).tril()
# +         mask[start:end, start:end] = torch.ones(len(row), len(row), dtype=torch.bool).tril().triu(-2)
