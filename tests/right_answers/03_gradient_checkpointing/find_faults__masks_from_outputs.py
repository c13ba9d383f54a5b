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
