# Right answers to chunked_cross_entropy.

# %% answer="recomputed_in_backward"
class Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets, chunk_rows):
        ctx.save_for_backward(hidden, weight, targets)
        ctx.chunk_rows = chunk_rows
        parts = zip(hidden.split(chunk_rows), targets.split(chunk_rows), strict=True)
        total = sum(F.cross_entropy(rows @ weight.T, wanted, reduction="sum") for rows, wanted in parts)
        return total / (targets != -100).sum()

    @staticmethod
    def backward(ctx, loss_gradient):
        hidden, weight, targets = ctx.saved_tensors
        scale = loss_gradient / (targets != -100).sum()
        hidden_gradients, weight_gradient = [], torch.zeros_like(weight)
        for rows, wanted in zip(hidden.split(ctx.chunk_rows), targets.split(ctx.chunk_rows), strict=True):
            gradient = (rows @ weight.T).softmax(dim=1)
            gradient[torch.arange(len(rows)), wanted.clamp(min=0)] -= 1
            gradient *= (wanted != -100)[:, None] * scale
            hidden_gradients.append(gradient @ weight)
            weight_gradient += gradient.T @ rows
        return torch.cat(hidden_gradients), weight_gradient, None, None


def chunked_cross_entropy(hidden, weight, targets, chunk_rows):
    return Recomputed.apply(hidden, weight, targets, chunk_rows)


# %% answer="autograd_inside_each_chunk"
class InnerGradients(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets, chunk_rows):
        counted, loss, gradients = (targets != -100).sum(), 0, []
        weight_gradient = torch.zeros_like(weight)
        for rows, wanted in zip(hidden.split(chunk_rows), targets.split(chunk_rows), strict=True):
            with torch.enable_grad():
                own, shared = rows.detach().requires_grad_(), weight.detach().requires_grad_()
                part = F.cross_entropy(own @ shared.T, wanted, reduction="sum") / counted
            gradient, of_weight = torch.autograd.grad(part, (own, shared))
            gradients.append(gradient)
            weight_gradient += of_weight
            loss = loss + part.detach()
        ctx.save_for_backward(torch.cat(gradients), weight_gradient)
        return loss

    @staticmethod
    def backward(ctx, loss_gradient):
        of_hidden, of_weight = ctx.saved_tensors
        return loss_gradient * of_hidden, loss_gradient * of_weight, None, None


def chunked_cross_entropy(hidden, weight, targets, chunk_rows):
    return InnerGradients.apply(hidden, weight, targets, chunk_rows)


# %% answer="checkpointed_chunks"
def chunked_cross_entropy(hidden, weight, targets, chunk_rows):
    from torch.utils.checkpoint import checkpoint

    def of_chunk(rows, weight, wanted):
        return F.cross_entropy(rows @ weight.T, wanted, reduction="sum")

    total = 0
    for rows, wanted in zip(hidden.split(chunk_rows), targets.split(chunk_rows), strict=True):
        total = total + checkpoint(of_chunk, rows, weight, wanted, use_reentrant=False)
    return total / (targets != -100).sum()
