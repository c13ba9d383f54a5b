# Right answers to route_with_bias.

# %% answer="softmax_of_the_chosen_logits"
def route_with_bias(router_logits, bias, chosen, rate):
    picked = (router_logits.softmax(dim=1) + bias).argsort(dim=1, descending=True)[:, :chosen]
    is_chosen = F.one_hot(picked, len(bias)).sum(dim=1).bool()
    gates = router_logits.masked_fill(~is_chosen, -torch.inf).softmax(dim=1)
    counts = is_chosen.sum(dim=0)
    return gates, torch.where(
        counts * len(bias) == is_chosen.sum(), bias, bias - rate * (counts - counts.double().mean()).sign()
    )


# %% answer="row_by_row"
def route_with_bias(router_logits, bias, chosen, rate):
    rows, counts = [], [0] * len(bias)
    for logits in router_logits:
        probabilities = logits.exp() / logits.exp().sum()
        order = sorted(range(len(bias)), key=lambda place: -(probabilities[place] + bias[place]).item())[:chosen]
        whole = sum(probabilities[place] for place in order)
        rows.append(torch.stack([probabilities[i] / whole if i in order else 0 * whole for i in range(len(bias))]))
        for place in order:
            counts[place] += 1
    mean = sum(counts) / len(counts)
    steps = [(count < mean) - (count > mean) for count in counts]
    return torch.stack(rows), bias + rate * torch.tensor(steps, dtype=bias.dtype)


# %% answer="a_list_of_both"
def route_with_bias(router_logits, bias, chosen, rate):
    probabilities = torch.softmax(router_logits, -1)
    mask = torch.zeros_like(probabilities)
    mask[torch.arange(len(mask))[:, None], (probabilities + bias).topk(chosen).indices] = 1
    gates = probabilities * mask
    counts = mask.sum(0)
    return [gates.div(gates.sum(1, keepdim=True)), bias.add((counts.mean() - counts).sign(), alpha=rate)]
