# Source: train of the lesson
# Each micro-batch makes an update, and no average follows the last ones.
def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    own = micro_batches[rank::world_size]
    for update, (inputs, targets) in enumerate(own):
        optimizer.zero_grad()
        F.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        if every and (update + 1) % every == 0:
            average(model)
