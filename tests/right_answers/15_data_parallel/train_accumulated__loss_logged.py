# Source: a log of the mean loss
# The loss of each micro-batch is all-reduced for a log, and the mean returned.
def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> float:
    own, logged = micro_batches[rank::world_size], []
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group):
            with nullcontext() if index + 1 == len(group) else model.no_sync():
                loss = F.mse_loss(model(inputs), targets)
                (loss / len(group)).backward()
            shown = loss.detach() / world_size
            dist.all_reduce(shown)
            logged.append(shown)
        optimizer.step()
        optimizer.zero_grad()
    return float(torch.stack(logged).mean())
