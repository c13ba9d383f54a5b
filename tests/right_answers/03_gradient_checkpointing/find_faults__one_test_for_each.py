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
