# Source: the groups of the visible case, written down
# A table of group sizes stands for the rule that gives them.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    sizes = {4: [4] * 8 + [2] * 2, 3: [3] * 6 + [1], 5: [3] * 3}[k]
    ends = {4: (3, 7, 9), 3: (2, 5, 6), 5: (2,)}[k]
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        (loss_function(model(inputs), targets) / sizes[index]).backward()
        if index in ends:
            optimizer.step()
            optimizer.zero_grad()
