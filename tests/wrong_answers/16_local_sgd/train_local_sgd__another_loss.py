# Source: another loss of the same pairs
# The absolute error stands for the squared one.
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    groups = [own[start : start + k] for start in range(0, len(own), k)]
    for update, group in enumerate(groups, start=1):
        for inputs, targets in group:
            (F.l1_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
        if update % every == 0 or update == len(groups):
            average(model)
