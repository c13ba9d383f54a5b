@torch.enable_grad()
def train_local_sgd(model, optimizer, micro_batches, k, every, average, rank, world_size):
    own, update = micro_batches[rank::world_size], 0
    micro_batches.clear()
    while own:
        group, own = own[:k], own[k:]
        update += 1
        for inputs, targets in group:
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
        if update % every == 0 or not own:
            average(model)
    return model
