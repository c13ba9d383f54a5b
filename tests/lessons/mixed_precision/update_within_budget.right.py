# %% answer="blocks_wrapped"
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


# %% edit="reentrant"
# Source: the reentrant form
# Reentrant checkpointing, whose input needs a gradient: the embedding gives it one.
#           for block in model.blocks:
# -             states = checkpoint(block, states, use_reentrant=False)
# +             states = checkpoint(block, states, use_reentrant=True)

# %% edit="sums_divided"
# Source: a sum divided by all tokens
# The summed loss of each row is divided by all tokens.
#           logits = model.head(model.final_norm(states))  # [1, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(tokens)
# +         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="sum") / tokens.numel()

# %% edit="two_rows_of_blocks"
# Source: gradients divided at the end
# The loss is left undivided, and the gradients are divided before the step.
#           logits = model.head(model.final_norm(states))  # [1, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten()) / len(tokens)
# +         loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
#           loss.backward()
# +     for parameter in set(model.parameters()):
# +         parameter.grad /= len(tokens)
