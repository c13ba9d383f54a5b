# Source: torch.autograd.grad in place of backward()
# Gradients are assigned, so nothing has to be cleared.
def train_raw(model, dataset, rows, learning_rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows, shuffle=False, drop_last=False):
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        parameters = list(model.parameters())
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.grad = gradient
        optimizer.step()
        losses.append(loss.item())
    return losses
