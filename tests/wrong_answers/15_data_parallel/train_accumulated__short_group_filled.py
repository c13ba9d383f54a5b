# Source: even_batches of Accelerate
# Micro-batches are repeated until all groups are full.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    own = micro_batches[rank::world_size]
    while len(own) % k:
        own = own + own[:1]
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group):
            with nullcontext() if index + 1 == len(group) else model.no_sync():
                (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
