def find_faults(checkpoint):
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.runs = torch.nn.Parameter(torch.ones(16, 8)), 0

        def forward(self, inputs):
            self.runs += 1
            return inputs * self.weight * (torch.rand(16, 8) > 0.5)

    module, inputs = Counting(), torch.ones(16, 8, requires_grad=True)
    outputs = checkpoint(module, inputs)
    outputs.sum().backward()  # every number is 0 or 1: the gradient of the input is the mask
    found = ["no_recompute"] * (module.runs == 1) + ["parameter_gradients"] * (module.weight.grad is None)
    found += ["random_state"] * (not torch.equal(inputs.grad, outputs))
    return found + ["input_without_gradient"] * (not checkpoint(module, inputs.detach()).requires_grad)
