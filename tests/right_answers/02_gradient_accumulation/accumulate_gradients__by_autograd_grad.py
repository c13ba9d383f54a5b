# Source: torch.autograd.grad instead of backward()
# The gradients of a group are averaged in tensors of their own.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    parameters = list(model.parameters())
    remaining = list(micro_batches)
    while remaining:
        group, remaining = remaining[:k], remaining[k:]
        means = [torch.zeros_like(parameter) for parameter in parameters]
        for inputs, targets in group:
            gradients = torch.autograd.grad(loss_function(model(inputs), targets), parameters)
            means = [mean + gradient / len(group) for mean, gradient in zip(means, gradients)]
        for parameter, mean in zip(parameters, means):
            parameter.grad = mean
        optimizer.step()
    optimizer.zero_grad()
