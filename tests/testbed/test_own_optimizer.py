import torch

from grader.testbed.own_optimizer import OwnOptimizer


def halve(optimizer):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            optimizer.state[parameter]["steps"] = optimizer.state[parameter].get("steps", 0) + 1
            parameter.mul_(1 - group["lr"])


def test_the_step_is_the_function_that_was_handed_over():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = OwnOptimizer(halve, [{"params": [weight], "lr": 0.5}], weight_decay=0.0)
    optimizer.step()
    optimizer.step()
    assert weight.tolist() == [0.25] * 3
    assert optimizer.state[weight] == {"steps": 2}
    assert optimizer.param_groups[0]["weight_decay"] == 0.0


def test_schedules_and_state_dicts_take_it():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = OwnOptimizer(halve, [weight], lr=0.5)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.25
    assert optimizer.state_dict()["state"] == {0: {"steps": 1}}


def test_a_closure_is_called_with_gradients():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = OwnOptimizer(halve, [weight])
    loss = optimizer.step(lambda: weight.sum())
    assert loss.requires_grad
    assert loss.item() == 3.0
