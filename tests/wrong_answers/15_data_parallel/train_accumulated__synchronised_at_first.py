# Source: the index that counts from 0, compared with 0
# The first micro-batch of a group talks, and the last one does not.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group):
            with nullcontext() if index == 0 else model.no_sync():
                (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
