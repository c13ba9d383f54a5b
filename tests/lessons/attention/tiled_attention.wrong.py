# Wrong answers to tiled_attention.
# Not here: hard_coded, because the visible case is a draw of random tensors, which nobody writes down.

# %% answer="plain_baseline" code="weights_kept"
# Source: the textbook's attention, in a Function that saves what backward needs
class KeepsWeights(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, is_causal):
        scores = query @ key.mT * query.shape[-1] ** -0.5
        if is_causal:
            scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
        weights = scores.softmax(dim=-1)
        ctx.save_for_backward(query, key, value, weights)
        return weights @ value

    @staticmethod
    def backward(ctx, gradient):
        query, key, value, weights = ctx.saved_tensors
        of_weights = gradient @ value.mT
        of_scores = weights * (of_weights - (weights * of_weights).sum(-1, keepdim=True)) * query.shape[-1] ** -0.5
        return of_scores @ key, of_scores.mT @ query, weights.mT @ gradient, None


def tiled_attention(query, key, value, is_causal, tile):
    return KeepsWeights.apply(query, key, value, is_causal)


# %% answer="copied_from_lesson" code="matrix_kept_by_autograd"
# Source: the three lines of the lesson
def tiled_attention(query, key, value, is_causal, tile):
    return eager_attention(query, key, value, is_causal)


# %% answer="library_shortcut" code="library_attention_used"
# Source: the fused operator of the lesson
def tiled_attention(query, key, value, is_causal, tile):
    return F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)


# %% answer="loop_under_autograd" code="tiles_kept_by_autograd"
# Source: an online softmax in a loop, without a Function
def tiled_attention(query, key, value, is_causal, tile):
    places, outputs = torch.arange(query.shape[-2], device=query.device), []
    for rows in places.split(tile):
        highest = torch.full_like(query[..., rows, :1], -torch.inf)
        total, mixed = torch.zeros_like(highest), torch.zeros_like(query[..., rows, :])
        for columns in places.split(tile):
            scores = query[..., rows, :] @ key[..., columns, :].mT * query.shape[-1] ** -0.5
            if is_causal:
                scores = scores.masked_fill(rows[:, None] < columns, -torch.inf)
            new = torch.maximum(highest, scores.amax(-1, keepdim=True))
            weights, shrink = (scores - new).exp(), (highest - new).exp()
            total = shrink * total + weights.sum(-1, keepdim=True)
            mixed, highest = shrink * mixed + weights @ value[..., columns, :], new
        outputs.append(mixed / total)
    return torch.cat(outputs, dim=-2)


# %% answer="matrix_on_the_context" code="matrix_held"
# Source: a trick: an attribute of the context, which save_for_backward does not see
class HidesWeights(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, is_causal):
        scores = query @ key.mT * query.shape[-1] ** -0.5
        if is_causal:
            scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
        ctx.weights = scores.softmax(dim=-1)
        ctx.save_for_backward(query, key, value)
        return ctx.weights @ value

    @staticmethod
    def backward(ctx, gradient):
        query, key, value = ctx.saved_tensors
        of_weights = gradient @ value.mT
        mean = (ctx.weights * of_weights).sum(-1, keepdim=True)
        of_scores = ctx.weights * (of_weights - mean) * query.shape[-1] ** -0.5
        return of_scores @ key, of_scores.mT @ query, ctx.weights.mT @ gradient, None


def tiled_attention(query, key, value, is_causal, tile):
    return HidesWeights.apply(query, key, value, is_causal)


# %% answer="strips" code="strip_held"
# Source: a likely shortcut: tiles of queries only, with a plain softmax over all keys
class Strips(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, is_causal, tile):
        ctx.save_for_backward(query, key, value)
        ctx.tiling = is_causal, tile
        parts = [weights @ value for _, weights in strips_of(query, key, is_causal, tile)]
        return torch.cat(parts, dim=-2)

    @staticmethod
    def backward(ctx, gradient):
        query, key, value = ctx.saved_tensors
        of_query, of_key, of_value = torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)
        for rows, weights in strips_of(query, key, *ctx.tiling):
            of_value += weights.mT @ gradient[..., rows, :]
            of_weights = gradient[..., rows, :] @ value.mT
            mean = (weights * of_weights).sum(-1, keepdim=True)
            of_scores = weights * (of_weights - mean) * query.shape[-1] ** -0.5
            of_query[..., rows, :] = of_scores @ key
            of_key += of_scores.mT @ query[..., rows, :]
        return of_query, of_key, of_value, None, None


def strips_of(query, key, is_causal, tile):
    places = torch.arange(query.shape[-2], device=query.device)
    for rows in places.split(tile):
        scores = query[..., rows, :] @ key.mT * query.shape[-1] ** -0.5
        if is_causal:
            scores = scores.masked_fill(rows[:, None] < places, -torch.inf)
        yield rows, scores.softmax(dim=-1)


def tiled_attention(query, key, value, is_causal, tile):
    return Strips.apply(query, key, value, is_causal, tile)


# %% edit="extra_kept" code="more_kept_than_needed"
# Source: a likely slip: what backward could compute is kept as well
# -     return output, (query, key, value, output, logsumexp)
# +     return output, (query, key, value, output, logsumexp, query * query.shape[-1] ** -0.5)
# ...
# - def backward_tiles(output_gradient, is_causal, tile, query, key, value, output, logsumexp):
# + def backward_tiles(output_gradient, is_causal, tile, query, key, value, output, logsumexp, scaled):

# %% edit="no_scale" code="scale_forgotten"
# Source: a likely slip: scores are products alone
# -         scores = query[queries] @ key[keys].mT * query.shape[-1] ** -0.5
# +         scores = query[queries] @ key[keys].mT
#           merge_into(output[queries], logsumexp[queries], scores.masked_fill(hidden, -torch.inf), value[keys])
# ...
# -         scores = query[queries] @ key[keys].mT * query.shape[-1] ** -0.5
# +         scores = query[queries] @ key[keys].mT
#           weights = (scores.masked_fill(hidden, -torch.inf) - logsumexp[queries]).exp()
# ...
# -         of_scores = weights * (of_weights - row_sums[queries]) * query.shape[-1] ** -0.5
# +         of_scores = weights * (of_weights - row_sums[queries])

# %% edit="scale_in_forward_only" code="scale_missing_in_backward"
# Source: a likely slip: the scale is a factor of the scores, so of their gradient too
# -         of_scores = weights * (of_weights - row_sums[queries]) * query.shape[-1] ** -0.5
# +         of_scores = weights * (of_weights - row_sums[queries])

# %% edit="softmax_again" code="logsumexp_not_subtracted"
# Source: a belief: the softmax of a tile gives its weights again
# -         weights = (scores.masked_fill(hidden, -torch.inf) - logsumexp[queries]).exp()
# +         weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)

# %% edit="mask_in_forward_only" code="mask_forgotten_in_backward"
# Source: a likely slip: hidden is used once
# -         weights = (scores.masked_fill(hidden, -torch.inf) - logsumexp[queries]).exp()
# +         weights = (scores - logsumexp[queries]).exp()

# %% edit="no_mask" code="mask_forgotten"
# Source: a likely slip: only the case without a mask is tried
# -         merge_into(output[queries], logsumexp[queries], scores.masked_fill(hidden, -torch.inf), value[keys])
# +         merge_into(output[queries], logsumexp[queries], scores, value[keys])
# ...
# -         weights = (scores.masked_fill(hidden, -torch.inf) - logsumexp[queries]).exp()
# +         weights = (scores - logsumexp[queries]).exp()

# %% edit="zeros_for_hidden" code="hidden_scores_zero"
# Source: a likely slip: a mask by multiplication
# -         merge_into(output[queries], logsumexp[queries], scores.masked_fill(hidden, -torch.inf), value[keys])
# +         merge_into(output[queries], logsumexp[queries], scores * ~hidden, value[keys])
# ...
# -         weights = (scores.masked_fill(hidden, -torch.inf) - logsumexp[queries]).exp()
# +         weights = (scores * ~hidden - logsumexp[queries]).exp()

# %% edit="no_row_sums" code="softmax_gradient_without_its_mean"
# Source: a belief: the gradient of a softmax is its result times the gradient
# -         of_scores = weights * (of_weights - row_sums[queries]) * query.shape[-1] ** -0.5
# +         of_scores = weights * of_weights * query.shape[-1] ** -0.5

# %% edit="sums_of_one_tile" code="mean_over_one_tile"
# Source: the formula of the lesson, applied to the tile at hand
# -         of_scores = weights * (of_weights - row_sums[queries]) * query.shape[-1] ** -0.5
# +         inner = (weights * of_weights).sum(dim=-1, keepdim=True)
# +         of_scores = weights * (of_weights - inner) * query.shape[-1] ** -0.5

# %% edit="no_weights" code="scores_gradient_differs"
# Source: a likely slip
# -         of_scores = weights * (of_weights - row_sums[queries]) * query.shape[-1] ** -0.5
# +         of_scores = (of_weights - row_sums[queries]) * query.shape[-1] ** -0.5

# %% edit="overwritten" code="key_and_value_overwritten"
# Source: a likely slip: = for +=
# -         gradients[1][keys] += of_scores.mT @ query[queries]
# -         gradients[2][keys] += weights.mT @ output_gradient[queries]
# +         gradients[1][keys] = of_scores.mT @ query[queries]
# +         gradients[2][keys] = weights.mT @ output_gradient[queries]

# %% edit="swapped" code="gradients_in_another_order"
# Source: a likely slip: the order of the table
# -     return gradients
# +     return [gradients[2], gradients[0], gradients[1]]

# %% edit="ones_for_the_gradient" code="weights_differ"
# Source: a plain sum as the loss of one's own test
# -     row_sums = (output * output_gradient).sum(dim=-1, keepdim=True)
# +     output_gradient = torch.ones_like(output)
# +     row_sums = output.sum(dim=-1, keepdim=True)

# %% edit="tiles_added" code="tiles_softmaxed_alone"
# Source: a belief: softmax may be taken tile by tile
# -         merge_into(output[queries], logsumexp[queries], scores.masked_fill(hidden, -torch.inf), value[keys])
# +         weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1).nan_to_num(0.0)
# +         output[queries] += weights @ value[keys]

# %% edit="run_without_apply" code="output_without_graph"
# Source: a likely slip: the forward function is called, and apply is not
# -     return AttentionFunction.apply(forward_tiles, backward_tiles, query, key, value, is_causal, tile)
# +     with torch.no_grad():
# +         return forward_tiles(query, key, value, is_causal, tile)[0]

# %% edit="mask_inverted" code="nan_computed"
# Source: SDPA's meaning of a mask, in which True means seen
# -         merge_into(output[queries], logsumexp[queries], scores.masked_fill(hidden, -torch.inf), value[keys])
# +         merge_into(output[queries], logsumexp[queries], scores.masked_fill(~hidden, -torch.inf), value[keys])

# %% edit="diagonal_skipped" code="output_differs"
# Source: a belief: a tile with hidden pairs is hidden
# -         scores = query[queries] @ key[keys].mT * query.shape[-1] ** -0.5
# -         merge_into(output[queries], logsumexp[queries], scores.masked_fill(hidden, -torch.inf), value[keys])
# +         if not hidden.any():
# +             scores = query[queries] @ key[keys].mT * query.shape[-1] ** -0.5
# +             merge_into(output[queries], logsumexp[queries], scores, value[keys])

# %% edit="float32" code="digits_lost"
# Source: a habit: scores in float32
# -         scores = query[queries] @ key[keys].mT * query.shape[-1] ** -0.5
# +         scores = (query[queries] @ key[keys].mT).float().double() * query.shape[-1] ** -0.5
#           merge_into(output[queries], logsumexp[queries], scores.masked_fill(hidden, -torch.inf), value[keys])
