# %% answer="counting_module"
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


# %% answer="masks_from_outputs"
def find_faults(checkpoint):
    block, calls = torch.nn.Sequential(torch.nn.Linear(50, 50, bias=False), torch.nn.Dropout(0.5)), 0
    torch.nn.init.eye_(block[0].weight)
    block.register_forward_pre_hook(lambda *_: calls_list.append(None))
    calls_list, inputs = [], torch.full((2, 50), 3.0, requires_grad=True)
    outputs = checkpoint(block, inputs)
    outputs.backward(torch.ones_like(outputs))
    answers = {
        "random_state": bool((outputs.detach() / 3 != inputs.grad).any()),
        "parameter_gradients": block[0].weight.grad is None,
        "no_recompute": len(calls_list) + calls == 1,
        "input_without_gradient": not checkpoint(block, torch.zeros(2, 50)).requires_grad,
    }
    return tuple(name for name in answers if answers[name])


# %% answer="one_test_for_each"
def make_block():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(6, 32), torch.nn.Dropout(0.4), torch.nn.Linear(32, 3))


def gradient_of_input(run):
    inputs = torch.linspace(-1, 1, 60).view(10, 6).requires_grad_()
    torch.manual_seed(2)
    run(inputs).square().sum().backward()
    return inputs.grad


def has_wrong_masks(checkpoint):
    block = make_block()
    plain, checkpointed = gradient_of_input(block), gradient_of_input(lambda inputs: checkpoint(block, inputs))
    return not torch.allclose(plain, checkpointed)


def loses_parameters(checkpoint):
    block = make_block()
    gradient_of_input(lambda inputs: checkpoint(block, inputs))
    return any(parameter.grad is None for parameter in block.parameters())


def loses_graph(checkpoint):
    return checkpoint(make_block(), torch.ones(4, 6)).grad_fn is None


def runs_once(checkpoint):
    block, runs = make_block(), []
    block[0].register_forward_hook(lambda *_: runs.append(1))
    gradient_of_input(lambda inputs: checkpoint(block, inputs))
    return sum(runs) == 1


def find_faults(checkpoint):
    tests = {"parameter_gradients": loses_parameters, "random_state": has_wrong_masks}
    tests |= {"input_without_gradient": loses_graph, "no_recompute": runs_once}
    return {name for name, has_fault in tests.items() if has_fault(checkpoint)}
