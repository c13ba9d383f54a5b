# Source: a split into equal pieces
# Each rank takes one piece of the list.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    share = len(micro_batches) // world_size
    own = micro_batches[rank * share : (rank + 1) * share]
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group):
            with nullcontext() if index + 1 == len(group) else model.no_sync():
                (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
