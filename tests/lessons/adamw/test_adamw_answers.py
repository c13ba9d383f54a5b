"""Checks of lesson 06 reject what is not an answer, and leave PyTorch as it was."""

import pytest
import torch

import grader
from grader.verdict import CheckFailed


def code_of(check: str, answer) -> str:
    with pytest.raises(CheckFailed) as failure:
        getattr(grader, check)(answer)
    assert len(failure.value.lines()) in (1, 3)
    return failure.value.code


@pytest.fixture(autouse=True)
def no_attempts(monkeypatch):
    monkeypatch.setenv("LEAN_TRAINING_ATTEMPTS", "off")


def test_a_prediction_is_a_number_and_not_a_measurement():
    assert code_of("check_state_bytes", lambda parameters, optimizer: None) == "returned_none"
    assert code_of("check_state_bytes", lambda parameters, optimizer: "8 P") == "wrong_type"
    assert code_of("check_state_bytes", lambda parameters, optimizer: torch.optim.AdamW(parameters)) == (
        "torch_optimizer_used"
    )


def test_an_optimizer_that_does_nothing_is_reported():
    assert code_of("check_adam_updates", lambda weight, gradient, state, lr, betas, eps: None) == "weight_not_changed"
    assert code_of("check_adamw_steps", lambda optimizer: None) == "weight_not_changed"


def test_an_error_of_an_answer_is_reported():
    def adamw_step(optimizer):
        for group in optimizer.param_groups:
            for weight in group["params"]:
                weight.sub_(weight.grad)

    assert code_of("check_adamw_steps", adamw_step) == "raised_type_error"


def test_the_optimizers_of_torch_work_again_after_a_check():
    code_of("check_adamw_steps", lambda optimizer: torch.optim.AdamW(optimizer.param_groups).step())
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    torch.optim.AdamW([weight], lr=0.1).step()
    assert bool((weight < 1).all())


def test_a_count_is_a_pair():
    assert code_of("check_state_count", lambda optimizer: 3) == "no_pair"
    assert code_of("check_state_count", lambda optimizer: None) == "returned_none"
    assert (
        code_of("check_state_count", lambda optimizer: (grader.optimizer_state_elements(optimizer), 0))
        == "meter_called"
    )


def test_a_model_that_nobody_prepared_is_reported():
    assert code_of("check_adam_in_backward", lambda model, make_optimizer: None) == "no_update"
    assert code_of("check_adam_backward_peak", lambda model, make_optimizer: None) == "peak_without_steps"


def test_a_hook_that_cannot_be_called_is_reported_with_the_line_that_registers_it():
    def register(make_hook):
        def step_in_backward(model, make_optimizer):
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.register_post_accumulate_grad_hook(make_hook(parameter))

        return step_in_backward

    for make_hook, code in (
        (lambda _: lambda parameter, gradient: None, "hook_with_other_parameters"),
        (lambda _: lambda: None, "hook_with_other_parameters"),
        (lambda _: None, "hook_not_a_function"),
        (lambda _: lambda parameter: 3, "hook_returns"),
    ):
        for check in ("check_adam_in_backward", "check_adam_backward_peak"):
            with pytest.raises(CheckFailed) as failure:
                getattr(grader, check)(register(make_hook))
            assert failure.value.code == code
            assert "register_post_accumulate_grad_hook(make_hook(parameter))" in failure.value.lines()[2]


def test_hooks_can_be_registered_as_before_after_a_check():
    code_of("check_adam_in_backward", lambda model, make_optimizer: None)
    weight = torch.nn.Parameter(torch.ones(2))
    weight.register_hook(lambda gradient: 2 * gradient)
    (3 * weight).sum().backward()
    assert torch.equal(weight.grad, torch.full((2,), 6.0))


def test_a_count_only_reads():
    assert code_of("check_state_count", lambda optimizer: (len(optimizer.state), optimizer.state.clear() or 0)) == (
        "state_emptied"
    )
    assert code_of("check_state_count", lambda optimizer: (torch.tensor(1), 0)) == "tensor_returned"


def test_a_prediction_leaves_its_parameters_alone():
    def predict_optimizer_state(parameters, optimizer):
        return len([parameter.requires_grad_(False) for parameter in parameters])

    assert code_of("check_state_bytes", predict_optimizer_state) == "parameters_changed"


def install_on(model, make_optimizer, *, is_hooked=lambda parameter: parameter.requires_grad):
    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    optimizers = {parameter: make_optimizer([parameter]) for parameter in model.parameters() if is_hooked(parameter)}
    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)


def test_parameters_are_not_unfrozen_so_that_they_take_a_hook():
    def step_in_backward(model, make_optimizer):
        install_on(model.requires_grad_(True), make_optimizer)

    assert code_of("check_adam_in_backward", step_in_backward) == "frozen_trained"


def test_the_peak_is_that_of_the_given_optimizer_on_every_parameter():
    def by_sgd(model, make_optimizer):
        install_on(model, lambda parameters: torch.optim.SGD(parameters, lr=0.1))

    def without_biases(model, make_optimizer):
        install_on(model, make_optimizer, is_hooked=lambda parameter: parameter.dim() > 1)

    assert code_of("check_adam_backward_peak", by_sgd) == "peak_of_another_optimizer"
    assert code_of("check_adam_backward_peak", without_biases) == "peak_without_state"
