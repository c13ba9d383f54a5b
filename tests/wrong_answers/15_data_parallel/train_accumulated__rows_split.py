# Source: a sampler of rows
# Each rank takes some rows of every micro-batch.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    own = [(inputs[rank::world_size], targets[rank::world_size]) for inputs, targets in micro_batches]
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group):
            with nullcontext() if index + 1 == len(group) else model.no_sync():
                (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
