# Source: a step at the begin of each group
# Each group begins with the step of the one before.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k):
        optimizer.step()
        optimizer.zero_grad()
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group):
            with nullcontext() if index + 1 == len(group) else model.no_sync():
                (F.mse_loss(model(inputs), targets) / len(group)).backward()
