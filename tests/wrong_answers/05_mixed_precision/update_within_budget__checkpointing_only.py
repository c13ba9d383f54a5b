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
