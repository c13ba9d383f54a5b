# Source: a sum of gradients, divided once
# The members are counted; .grad is divided when the group is complete.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    members = 0
    model.zero_grad()
    for number, (inputs, targets) in enumerate(micro_batches, start=1):
        loss_function(model(inputs), targets).backward()
        members += 1
        if members == k or number == len(micro_batches):
            for parameter in model.parameters():
                parameter.grad /= members
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
            members = 0
