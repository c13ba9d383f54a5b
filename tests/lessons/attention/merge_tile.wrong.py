# Wrong answers to merge_tile.
# Not here: hard_coded, because the visible case is a draw of random scores, which nobody writes down.
# Not here: library_shortcut, because no library has an entry point for one step.

# %% answer="plain_baseline" code="softmax_of_the_tile"
# Source: attention as usual, applied to each tile
def merge_tile(highest, total, mixed, scores, value):
    new_highest = torch.maximum(highest, scores.amax(dim=-1))
    shrink = torch.exp(highest - new_highest)
    weights = scores.softmax(dim=-1).nan_to_num(0.0)
    return new_highest, shrink * total + weights.sum(dim=-1), shrink.unsqueeze(-1) * mixed + weights @ value


# %% answer="copied_from_lesson" code="nothing_rescaled"
# Source: the table of the three running numbers, taken literally
def merge_tile(highest, total, mixed, scores, value):
    new_highest = torch.maximum(highest, scores.amax(dim=-1))
    weights = torch.exp(scores - new_highest.unsqueeze(-1))
    return new_highest, total + weights.sum(dim=-1), mixed + weights @ value


# %% edit="total_kept" code="total_not_rescaled"
# Source: a likely slip: only the output is rescaled
# -     total = shrink * total + weights.sum(dim=-1)
# +     total = total + weights.sum(dim=-1)

# %% edit="mixed_kept" code="mixed_not_rescaled"
# Source: a likely slip: only the sum is rescaled
# -     mixed = shrink.unsqueeze(-1) * mixed + weights @ value
# +     mixed = mixed + weights @ value

# %% edit="inverse" code="rescaled_the_wrong_way"
# Source: a likely slip: the difference is turned round
# -     shrink = torch.exp(highest - new_highest)
# +     shrink = torch.exp(new_highest - highest)

# %% edit="both_rescaled" code="weights_rescaled_too"
# Source: a likely slip: parentheses
# -     total = shrink * total + weights.sum(dim=-1)
# -     mixed = shrink.unsqueeze(-1) * mixed + weights @ value
# +     total = shrink * (total + weights.sum(dim=-1))
# +     mixed = shrink.unsqueeze(-1) * (mixed + weights @ value)

# %% edit="old_highest" code="highest_of_before_subtracted"
# Source: a likely slip: the wrong name
# -     weights = torch.exp(scores - new_highest.unsqueeze(-1))
# +     weights = torch.exp(scores - highest.unsqueeze(-1))

# %% edit="no_shift" code="no_highest_subtracted"
# Source: the definition of a softmax
# -     weights = torch.exp(scores - new_highest.unsqueeze(-1))
# +     weights = torch.exp(scores)

# %% edit="own_shift" code="highest_of_the_tile_only"
# Source: the stable softmax of one row
# -     weights = torch.exp(scores - new_highest.unsqueeze(-1))
# +     weights = torch.exp(scores - scores.amax(dim=-1, keepdim=True))

# %% edit="overwritten" code="earlier_tiles_forgotten"
# Source: a likely slip: = for +=
# -     total = shrink * total + weights.sum(dim=-1)
# -     mixed = shrink.unsqueeze(-1) * mixed + weights @ value
# +     total = weights.sum(dim=-1)
# +     mixed = weights @ value

# %% edit="normalised" code="mixed_normalised"
# Source: the first algorithm of the paper, which keeps the output normalised
# -     mixed = shrink.unsqueeze(-1) * mixed + weights @ value
# +     mixed = (shrink.unsqueeze(-1) * mixed + weights @ value) / total.unsqueeze(-1)

# %% edit="mean" code="mean_for_sum"
# Source: a likely slip
# -     total = shrink * total + weights.sum(dim=-1)
# +     total = shrink * total + weights.mean(dim=-1)

# %% edit="scaled_again" code="scores_scaled_again"
# Source: the scale of the textbook, although the scores arrive scaled
# -     new_highest = torch.maximum(highest, scores.amax(dim=-1))
# +     scores = scores / value.shape[-1] ** 0.5
# +     new_highest = torch.maximum(highest, scores.amax(dim=-1))

# %% edit="float32" code="digits_lost"
# Source: a habit: float() before an exponential
# -     weights = torch.exp(scores - new_highest.unsqueeze(-1))
# +     weights = torch.exp((scores - new_highest.unsqueeze(-1)).float()).double()

# %% edit="difference" code="rescaled_without_the_exponential"
# Source: a likely slip: scores are rescaled, not exponentials
# -     shrink = torch.exp(highest - new_highest)
# +     shrink = (highest - new_highest).nan_to_num(neginf=0.0)

# %% edit="sum_over_queries" code="wrong_shape"
# Source: a likely slip: the other dimension
# -     total = shrink * total + weights.sum(dim=-1)
# +     total = (shrink * total).unsqueeze(-1) + weights.sum(dim=-1, keepdim=True)


# %% answer="quotient_returned" code="no_triple_returned"
# Source: a likely slip: the output is wanted, after all
def merge_tile(highest, total, mixed, scores, value):
    new_highest = torch.maximum(highest, scores.amax(dim=-1))
    shrink = torch.exp(highest - new_highest)
    weights = torch.exp(scores - new_highest.unsqueeze(-1))
    total = shrink * total + weights.sum(dim=-1)
    return (shrink.unsqueeze(-1) * mixed + weights @ value) / total.unsqueeze(-1)


# %% answer="new_rescaled" code="new_tile_rescaled"
# Source: a student's version of the rescaling
def merge_tile(highest, total, mixed, scores, value):
    new_highest = torch.maximum(highest, scores.amax(dim=-1))
    shrink = (highest - new_highest).exp()
    weights = (scores - new_highest[..., None]).exp()
    return new_highest, total + shrink * weights.sum(dim=-1), mixed + shrink[..., None] * (weights @ value)


# %% edit="another_order" code="returned_in_another_order"
# Source: a slip in the last line
# -     return new_highest, total, mixed
# +     return new_highest, mixed, total


# %% answer="tile_highest_back" code="another_highest_returned"
# Source: a slip in the last line
def merge_tile(highest, total, mixed, scores, value):
    new_highest = torch.maximum(highest, scores.amax(dim=-1))
    shrink = (highest - new_highest).exp()
    weights = (scores - new_highest[..., None]).exp()
    total, mixed = shrink * total + weights.sum(dim=-1), shrink[..., None] * mixed + weights @ value
    return scores.amax(dim=-1), total, mixed


# %% edit="squared" code="one_sum_wrong"
# Source: a likely slip: a product that holds the factor is rescaled again
# -     mixed = shrink.unsqueeze(-1) * mixed + weights @ value
# +     mixed = shrink.unsqueeze(-1) ** 2 * mixed + weights @ value

# %% edit="powers_of_two" code="both_sums_wrong"
# Source: kernels compute exp2, of scores that are scaled by log2(e) first
# -     shrink = torch.exp(highest - new_highest)
# -     weights = torch.exp(scores - new_highest.unsqueeze(-1))
# +     shrink = torch.exp2(highest - new_highest)
# +     weights = torch.exp2(scores - new_highest.unsqueeze(-1))

# %% edit="zero_for_hidden" code="falling_or_hidden_scores"
# Source: a guard against minus infinity
# -     new_highest = torch.maximum(highest, scores.amax(dim=-1))
# +     new_highest = torch.maximum(highest, scores.amax(dim=-1))
# +     scores = scores.masked_fill(scores.isinf(), 0.0)

# %% edit="nothing_higher" code="falling_or_hidden_scores"
# Source: a belief: a tile without a new highest score changes nothing
# -     shrink = torch.exp(highest - new_highest)
# +     if not (new_highest > highest).any():
# +         return highest, total, mixed
# +     shrink = torch.exp(highest - new_highest)
