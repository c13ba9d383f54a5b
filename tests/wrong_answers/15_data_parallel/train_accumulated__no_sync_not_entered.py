# Source: no_sync taken for a switch
# The context is made and never entered.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group):
            if index + 1 < len(group):
                model.no_sync()
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
