# Source: the numbers of the visible case
# k is looked up by ranks and micro-batches.
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    k = {(2, 19): 3, (2, 16): 2, (2, 6): 2, (3, 10): 3, (3, 6): 2}.get((world_size, len(own)), 4)
    groups = [own[start : start + k] for start in range(0, len(own), k)]
    for update, group in enumerate(groups, start=1):
        for inputs, targets in group:
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
        if update % every == 0 or update == len(groups):
            average(model)
