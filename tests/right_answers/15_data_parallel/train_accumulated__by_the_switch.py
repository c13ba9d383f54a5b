def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    count = len(micro_batches) // world_size
    for index in range(count):
        inputs, targets = micro_batches[rank + index * world_size]
        size = min(k, count - index // k * k)
        is_last = index % k == size - 1
        model.require_backward_grad_sync = is_last
        loss = F.mse_loss(model(inputs), targets)
        (loss / size).backward()
        if is_last:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
