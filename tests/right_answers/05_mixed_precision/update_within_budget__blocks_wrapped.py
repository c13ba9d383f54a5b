# Source: each block's forward replaced for the call
# The blocks recompute themselves, and the model is called as it is.
def update_within_budget(model, optimizer, tokens: torch.Tensor, targets: torch.Tensor) -> None:
    from functools import partial

    from torch.utils.checkpoint import checkpoint

    originals = [block.forward for block in model.blocks]
    for block in model.blocks:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)
    for row, target in zip(tokens, targets, strict=True):
        logits = model(row.unsqueeze(0))
        (F.cross_entropy(logits[0], target) / len(tokens)).backward()
    for block, forward in zip(model.blocks, originals, strict=True):
        block.forward = forward
    optimizer.step()
