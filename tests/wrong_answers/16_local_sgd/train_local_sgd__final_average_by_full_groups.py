# Source: the end, counted in full groups
# A short last group always gets a final average, also where its update was averaged.
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    groups = [own[start : start + k] for start in range(0, len(own), k)]
    for update, group in enumerate(groups, start=1):
        for inputs, targets in group:
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
        if update % every == 0:
            average(model)
    if len(own) % (k * every):
        average(model)
