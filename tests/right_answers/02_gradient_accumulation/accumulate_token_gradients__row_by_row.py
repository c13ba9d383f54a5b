# Source: micro-batches cut again
# One row runs at a time; a row without targets does not run.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    rows = [(row, target) for tokens, targets in micro_batches for row, target in zip(tokens, targets)]
    token_count = sum(int((target != -100).sum()) for _, target in rows)
    losses = []
    for row, target in rows:
        if (target == -100).all():
            continue
        loss = F.cross_entropy(model(row[None])[0], target, reduction="sum").div(token_count)
        loss.backward()
        losses.append(loss.item())
    return sum(losses)
