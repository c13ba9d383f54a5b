# Source: torch.autograd.grad instead of backward()
# The gradients are added in tensors that become .grad at the end.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    parameters = list(model.parameters())
    gradients = [torch.zeros_like(parameter) for parameter in parameters]
    loss_sum = token_count = 0
    for tokens, targets in micro_batches:
        loss = F.cross_entropy(model(tokens).transpose(1, 2), targets, reduction="sum")
        for total, part in zip(gradients, torch.autograd.grad(loss, parameters)):
            total += part
        loss_sum += loss.item()
        token_count += int((targets != -100).sum())
    for parameter, total in zip(parameters, gradients):
        parameter.grad = total / token_count
    return loss_sum / token_count
