"""The cases of lesson 22 distinguish what they are meant to, and the teacher's mode changes its answers."""

from __future__ import annotations

import pytest
import torch

from grader.judging.lessons.distillation.logits import distillation_loss, soft_gradient
from grader.lessons.distillation.logits import gradient_cases, loss_cases
from grader.lessons.distillation.runs import distil_cases, record_teacher, trainer_cases


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_by_hand_is_that_of_the_soft_loss(seed: int) -> None:
    for case in gradient_cases(seed):
        student, teacher, labels = case.draw()
        rows = student.unsqueeze(0).requires_grad_()
        loss = distillation_loss(rows, teacher.unsqueeze(0), labels, case.temperature, 1.0) / case.temperature**2
        (wanted,) = torch.autograd.grad(loss, rows)
        torch.testing.assert_close(soft_gradient(student, teacher, case.temperature), wanted[0])


@pytest.mark.parametrize("seed", range(20))
def test_some_temperature_and_some_weight_differ_from_those_of_the_notebook(seed: int) -> None:
    assert any(case.temperature not in (1.0, 4.0) and case.rows != case.classes for case in loss_cases(seed))
    assert len({case.rows for case in loss_cases(seed)}) >= 2


@pytest.mark.parametrize("seed", range(5))
def test_the_teacher_answers_differently_in_train_mode(seed: int) -> None:
    for case in distil_cases(seed):
        _, teacher = case.make_models()
        inputs, _ = case.draw()[0]
        answers = [teacher.train(mode)(inputs) for mode in (False, True)]
        assert (answers[0] - answers[1]).norm() > 0.1 * answers[0].norm()


def test_the_last_batch_of_the_trainer_is_short() -> None:
    assert all(len(case.make_dataset()) % case.rows for case in trainer_cases(3))


def test_the_record_names_what_reaches_the_teacher() -> None:
    student, teacher = distil_cases(0)[0].make_models()
    inputs, _ = distil_cases(0)[0].draw()[0]
    with record_teacher(teacher) as record:
        optimizer = torch.optim.SGD([*student.parameters(), *teacher.parameters()], lr=0.1)
        (student(inputs) - teacher(inputs)).square().mean().backward()
        optimizer.step()
    assert (record["modes"], record["graphs"]) == ([True], [True])
    assert record["optimized"] and record["has_gradients"] and record["changed"]
