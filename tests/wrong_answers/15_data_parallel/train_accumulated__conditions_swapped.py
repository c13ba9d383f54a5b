# Source: the two contexts the other way round
# All micro-batches talk but the last.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group):
            with model.no_sync() if index + 1 == len(group) else nullcontext():
                (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
