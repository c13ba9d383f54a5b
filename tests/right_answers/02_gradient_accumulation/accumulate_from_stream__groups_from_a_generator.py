# Source: a generator of groups in a function of its own
# A generator cuts the stream into groups.
def in_groups(stream, size):
    group = []
    for micro_batch in stream:
        group.append(micro_batch)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    for group in in_groups(micro_batches, k):
        for inputs, targets in group:
            loss = loss_function(model(inputs), targets)
            (loss / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
