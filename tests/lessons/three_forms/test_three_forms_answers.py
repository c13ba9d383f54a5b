"""What lesson 00's first checks say of an answer of the wrong kind, and which libraries they refuse."""

from __future__ import annotations

import numpy
import pytest
import torch
from accelerate import Accelerator
from torch.optim import optimizer as optimizers
from transformers import Trainer

from grader.lessons.three_forms.defaults import DEFAULTS
from grader.lessons.three_forms.loop import RunCase
from grader.lessons.three_forms.raw_runs import observe_run, require_losses
from grader.observing.by_hand import refuse_libraries
from grader.observing.truths import require_truths
from grader.verdict import CheckFailed

RIGHT = {"sampling": True, "clipping": False, "schedule": True}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (None, "returned_none"),
        (True, "one_truth_returned"),
        ("sampling", "text_returned"),
        (["sampling"], "names_listed"),
        ((True, False, True), "values_without_keys"),
        (1.0, "wrong_type"),
        ({"Sampling": True, "clipping": True, "schedule": True}, "key_missing"),
        (RIGHT | {"decay": True}, "key_not_asked_for"),
        (RIGHT | {"clipping": "yes"}, "text_for_truth"),
        (RIGHT | {"clipping": 0}, "number_for_truth"),
        (RIGHT | {"clipping": None}, "value_missing"),
        (RIGHT | {"clipping": [True]}, "value_of_wrong_type"),
        (RIGHT | {"clipping": torch.tensor([True, False])}, "value_of_wrong_type"),
    ],
)
def test_an_answer_that_is_no_dict_of_truths_is_named(answer: object, code: str) -> None:
    with pytest.raises(CheckFailed) as failure:
        require_truths(answer, DEFAULTS, "which defaults")
    assert failure.value.code == code


@pytest.mark.parametrize("kind", [bool, numpy.bool_, torch.tensor])
def test_truths_of_numpy_and_torch_are_read_as_python_s(kind: type) -> None:
    answer = {key: kind(value) for key, value in RIGHT.items()}
    assert require_truths(answer, DEFAULTS, "which defaults") == RIGHT


@pytest.mark.parametrize(
    ("losses", "code"),
    [
        (None, "returned_none"),
        (0.7, "one_number_returned"),
        (torch.tensor(0.7), "one_number_returned"),
        ({0: 0.7}, "wrong_type"),
        ([float("nan")], "not_finite"),
        ([torch.ones(1, requires_grad=True).sum()], "graph_returned"),
    ],
)
def test_losses_of_another_kind_are_named(losses: object, code: str) -> None:
    with pytest.raises(CheckFailed) as failure:
        require_losses(losses)
    assert failure.value.code == code


@pytest.mark.parametrize("losses", [(1, 2.0), numpy.array([1, 2]), [torch.tensor(1.0), numpy.float32(2)]])
def test_a_sequence_of_numbers_is_read_as_losses(losses: object) -> None:
    assert require_losses(losses) == [1, 2]


def test_libraries_are_refused_by_name_and_given_back_afterwards() -> None:
    before = Trainer.train, Accelerator.prepare, Accelerator.backward
    with pytest.raises(CheckFailed) as failure, refuse_libraries(is_accelerate_refused=True):
        Accelerator().prepare()
    assert failure.value.code == "accelerator_used"
    assert "Accelerator.prepare" in failure.value.measured
    with refuse_libraries(is_accelerate_refused=False):
        assert (Accelerator.prepare, Accelerator.backward) == before[1:]
        with pytest.raises(CheckFailed) as failure:
            Trainer.train(None)
    assert failure.value.code == "trainer_used"
    assert (Trainer.train, Accelerator.prepare, Accelerator.backward) == before


def test_a_model_is_handed_over_in_eval_mode_and_its_hooks_are_removed() -> None:
    hooks, seen = len(optimizers._global_optimizer_pre_hooks), []

    def train(model: torch.nn.Module, dataset: object, rows: int, learning_rate: float) -> None:
        seen.append(model)
        assert not model.training
        assert len(optimizers._global_optimizer_pre_hooks) > hooks
        raise KeyError

    with pytest.raises(KeyError):
        observe_run(RunCase(2, 2, 1, 0), train)
    assert len(optimizers._global_optimizer_pre_hooks) == hooks
    assert not seen[0]._forward_hooks


def test_a_forward_without_labels_is_named_when_its_loss_is_missed() -> None:
    def train(model: torch.nn.Module, dataset: object, rows: int, learning_rate: float) -> None:
        model(dataset[:2]["input_ids"].to(model.device)).loss.backward()

    with pytest.raises(CheckFailed) as failure:
        observe_run(RunCase(2, 2, 1, 0), train)
    assert failure.value.code == "labels_left_out"
