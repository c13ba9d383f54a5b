# Source: Accelerate: step() counts micro-batches
# every counts micro-batches.
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    count = 0
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for inputs, targets in group:
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
            count += 1
        optimizer.step()
        optimizer.zero_grad()
        if count % every == 0 or count == len(own):
            average(model)
