# Source: the published example, which printed the gradient of the input
# Only the gradient of the input is looked at.
def find_faults(checkpoint):
    block = torch.nn.Linear(8, 8)
    inputs = torch.ones(16, 8, requires_grad=True)
    checkpoint(block, inputs).sum().backward()
    return (
        {"parameter_gradients", "input_without_gradient"} if inputs.grad is None or block.weight.grad is None else set()
    )
