def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k * every):
        for first in range(start, min(start + k * every, len(own)), k):
            group = own[first : min(first + k, len(own))]
            optimizer.zero_grad(set_to_none=False)
            for inputs, targets in group:
                loss = F.mse_loss(model(inputs), targets)
                loss.backward(gradient=torch.tensor(1 / len(group)))
            optimizer.step()
        average(model)
