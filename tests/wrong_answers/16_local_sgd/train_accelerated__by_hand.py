# Source: the loop of the exercise before
# Accelerate is not used.
def train_accelerated(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    batches = list(DataLoader(dataset, batch_size=rows))[rank::world_size]
    for index, (inputs, targets) in enumerate(batches, start=1):
        (F.mse_loss(model(inputs), targets) / k).backward()
        if index % k == 0:
            optimizer.step()
            optimizer.zero_grad()
        if index % (k * every) == 0 or index == len(batches):
            average(list(model.parameters()), world_size)
