# Source: the average in the loop of micro-batches
# Micro-batches are counted, and the average comes before the update.
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group, start=start + 1):
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
            if index == start + 1 and index > 1 and (start // k) % every == 0:
                average(model)
        optimizer.step()
        optimizer.zero_grad()
    average(model)
