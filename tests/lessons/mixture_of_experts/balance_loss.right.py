# Right answers to balance_loss.

# %% answer="one_hot"
def balance_loss(router_logits, chosen):
    tokens, experts = router_logits.shape
    probabilities = F.softmax(router_logits, dim=-1)
    counts = F.one_hot(torch.topk(router_logits, chosen).indices, experts).sum(dim=(0, 1))
    return torch.dot(counts.to(probabilities), probabilities.sum(dim=0)) * experts / (tokens**2 * chosen)


# %% answer="loop"
def balance_loss(router_logits, chosen):
    probabilities = router_logits.softmax(dim=1)
    picked = router_logits.topk(chosen, dim=1).indices
    total = 0.0
    for expert in range(router_logits.shape[1]):
        share = (picked == expert).sum().item() / picked.numel()
        total = total + share * probabilities[:, expert].mean()
    return total * router_logits.shape[1]


# %% answer="library_divided"
def balance_loss(router_logits, chosen):
    from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

    return load_balancing_loss_func((router_logits,), router_logits.shape[1], chosen) / chosen
