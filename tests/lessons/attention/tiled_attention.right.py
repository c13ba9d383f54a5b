# Right answers to tiled_attention.

# %% answer="own_function"
class Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, is_causal, tile):
        output = torch.empty_like(query)
        logsumexp = torch.empty(query.shape[:-1], dtype=query.dtype, device=query.device)
        for rows in range(0, query.shape[-2], tile):
            part = query[..., rows : rows + tile, :] / query.shape[-1] ** 0.5
            highest = torch.full(part.shape[:-1], -torch.inf, dtype=query.dtype, device=query.device)
            total, mixed = torch.zeros_like(highest), torch.zeros_like(part)
            for columns in range(0, query.shape[-2], tile):
                scores = part @ key[..., columns : columns + tile, :].mT
                scores = Flash.mask(scores, rows, columns, is_causal)
                new = torch.maximum(highest, scores.amax(-1))
                weights, shrink = (scores - new[..., None]).exp(), (highest - new).exp()
                total, highest = shrink * total + weights.sum(-1), new
                mixed = shrink[..., None] * mixed + weights @ value[..., columns : columns + tile, :]
            output[..., rows : rows + tile, :] = mixed / total[..., None]
            logsumexp[..., rows : rows + tile] = highest + total.log()
        ctx.save_for_backward(query, key, value, output, logsumexp)
        ctx.is_causal, ctx.tile = is_causal, tile
        return output

    @staticmethod
    def mask(scores, row, column, is_causal):
        places = [torch.arange(size, device=scores.device) for size in scores.shape[-2:]]
        later = places[0][:, None] + row < places[1] + column
        return scores.masked_fill(later, -torch.inf) if is_causal else scores

    @staticmethod
    def backward(ctx, gradient):
        query, key, value, output, logsumexp = ctx.saved_tensors
        tile, scale = ctx.tile, query.shape[-1] ** -0.5
        found = torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)
        common = torch.einsum("...d,...d->...", output, gradient)
        for column in range(0, query.shape[-2], tile):  # keys outside, queries inside
            columns = slice(column, column + tile)
            for row in range(0, query.shape[-2], tile):
                rows = slice(row, row + tile)
                scores = Flash.mask(scale * query[..., rows, :] @ key[..., columns, :].mT, row, column, ctx.is_causal)
                weights = (scores - logsumexp[..., rows, None]).exp()
                inner = gradient[..., rows, :] @ value[..., columns, :].mT - common[..., rows, None]
                found[0][..., rows, :] += scale * (weights * inner) @ key[..., columns, :]
                found[1][..., columns, :] += scale * (weights * inner).mT @ query[..., rows, :]
                found[2][..., columns, :] += weights.mT @ gradient[..., rows, :]
        return *found, None, None


def tiled_attention(query, key, value, is_causal, tile):
    return Flash.apply(query, key, value, is_causal, tile)


# %% answer="smaller_tiles"
# Half of the tile is allowed: no more than tile x tile is asked for.
def tiled_attention(query, key, value, is_causal, tile):
    half = max(1, tile // 2)
    return AttentionFunction.apply(run_forward, run_backward, query, key, value, is_causal, half)


def scores_of(query, key, rows, columns, hidden):
    return (query[rows] @ key[columns].mT / query.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf)


def run_forward(query, key, value, is_causal, tile):
    output, logsumexp = torch.zeros_like(query), torch.full_like(query[..., :1], -torch.inf)
    for rows, columns, hidden in tile_pairs(query, tile, is_causal):
        merge_into(output[rows], logsumexp[rows], scores_of(query, key, rows, columns, hidden), value[columns])
    return output, (query, key, value, output, logsumexp)


def run_backward(gradient, is_causal, tile, query, key, value, output, logsumexp):
    inputs = query, key, value
    found = [torch.zeros_like(each) for each in inputs]
    common = (output * gradient).sum(-1, keepdim=True)
    for rows, columns, hidden in tile_pairs(query, tile, is_causal):
        weights = (scores_of(query, key, rows, columns, hidden) - logsumexp[rows]).exp()
        inner = weights * (gradient[rows] @ value[columns].mT - common[rows]) / query.shape[-1] ** 0.5
        found[0][rows] += inner @ key[columns]
        found[1][columns] += inner.mT @ query[rows]
        found[2][columns] += weights.mT @ gradient[rows]
    return found


# %% answer="output_not_kept"
# The sum of weights times their gradient, over all keys, is computed in a pass of its own.
class WithoutOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, is_causal, tile):
        output, logsumexp = torch.zeros_like(query), torch.full_like(query[..., :1], -torch.inf)
        for rows, columns, hidden in tile_pairs(query, tile, is_causal):
            scores = (query[rows] @ key[columns].mT * query.shape[-1] ** -0.5).masked_fill(hidden, -torch.inf)
            merge_into(output[rows], logsumexp[rows], scores, value[columns])
        ctx.save_for_backward(query, key, value, logsumexp)
        ctx.tiling = tile, is_causal
        return output

    @staticmethod
    def backward(ctx, gradient):
        query, key, value, logsumexp = ctx.saved_tensors
        scale, common = query.shape[-1] ** -0.5, torch.zeros_like(logsumexp)
        found = [torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)]
        for is_second in (False, True):
            for rows, columns, hidden in tile_pairs(query, *ctx.tiling):
                scores = (query[rows] @ key[columns].mT * scale).masked_fill(hidden, -torch.inf)
                weights, of_weights = (scores - logsumexp[rows]).exp(), gradient[rows] @ value[columns].mT
                if not is_second:
                    common[rows] += (weights * of_weights).sum(-1, keepdim=True)
                    continue
                of_scores = weights * (of_weights - common[rows]) * scale
                found[0][rows] += of_scores @ key[columns]
                found[1][columns] += of_scores.mT @ query[rows]
                found[2][columns] += weights.mT @ gradient[rows]
        return *found, None, None


def tiled_attention(query, key, value, is_causal, tile):
    return WithoutOutput.apply(query, key, value, is_causal, tile)
