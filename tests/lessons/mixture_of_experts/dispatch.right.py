# Right answers to dispatch.

# %% answer="sorted_by_expert"
def dispatch(tokens, gates, experts, capacity_factor):
    owners, rows = torch.nonzero(gates.T > 0, as_tuple=True)
    capacity = math.ceil(capacity_factor * len(rows) / len(experts))
    parts, places = [tokens.new_zeros(0, tokens.shape[1])], [rows[:0]]
    for place, expert in enumerate(experts):
        own = rows[owners == place][:capacity]
        if own.numel():
            parts.append(expert(tokens.index_select(0, own)) * gates[own, place].unsqueeze(1))
            places.append(own)
    return torch.zeros_like(tokens).index_add(0, torch.cat(places), torch.cat(parts))


# %% answer="empty_calls"
def dispatch(tokens, gates, experts, capacity_factor):
    is_sent = gates.gt(0)
    capacity = -int(-(capacity_factor * is_sent.sum().item()) // len(experts))
    is_kept = is_sent & (is_sent.cumsum(0) <= capacity)
    outputs = []
    for place, expert in enumerate(experts):
        rows = is_kept[:, place]
        output = torch.zeros_like(tokens)
        output[rows] = expert(tokens[rows]) * gates[rows, place : place + 1]
        outputs.append(output)
    return torch.stack(outputs).sum(dim=0)


# %% answer="one_hot_products"
def dispatch(tokens, gates, experts, capacity_factor):
    capacity = math.ceil(torch.count_nonzero(gates).item() * capacity_factor / len(experts))
    result = 0 * tokens
    for place, expert in enumerate(experts):
        rows = gates[:, place].nonzero().flatten()[:capacity]
        selection = F.one_hot(rows, len(tokens)).to(tokens.dtype)
        if len(rows):
            result = result + selection.T @ (gates[rows, place, None] * expert(selection @ tokens))
    return result
