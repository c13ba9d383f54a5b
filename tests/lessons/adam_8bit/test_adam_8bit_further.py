"""Verdicts on the two forms and on the job of lesson 08."""

from __future__ import annotations

import pytest
import torch

from grader.judging.lessons.adam_8bit.forms import _judge_formats
from grader.judging.lessons.adam_8bit.job import judge_lean_job
from grader.lessons.adam_8bit.forms import eight_bit_forms_cases
from grader.lessons.adam_8bit.job import job_loss_cases, job_peak_case
from grader.observation import Observation
from grader.testbed.word_sorter import batch_number

FINE = {"hooks_left": 0, "gradients_left": 0, "is_left_zero": True, "forwards_waiting": 1, "gradients_alive": 1}
FINE |= {"optimizers": ["AdamW"], "optimizers_made": 1, "state_bytes": 0, "state_left_bytes": 0, "most_updates": 1}
FINE |= {"formats": ["float32"]}


def trained_weights(case, rate: float = 4e-3):
    model = case.make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    for words, topics in case.make_batches():
        optimizer.zero_grad()
        model(words, topics).backward()
        optimizer.step()
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach()


@pytest.fixture(scope="module")
def right_weights():
    return [trained_weights(case) for case in job_loss_cases(0)]


def walked(case, calls: int = 1) -> dict[str, object]:
    seen = calls * [batch_number(words) for words, _ in case.make_batches()]
    return {"forwards": len(seen), "batches_seen": seen}


def judge(right_weights, *, held_bytes: int = 0, first=None, changes=None, large=None):
    cases, case = job_loss_cases(0), job_peak_case(0)
    settings = [FINE | walked(small) | (changes or {}) for small in cases]
    entry = sum(parameter.nbytes for parameter in case.make_model().parameters())
    claim = {"peak_bytes": entry + held_bytes, "above_entry_bytes": held_bytes, "device": "cpu"}
    facts = {"settings": settings, "claims": [claim], "large": FINE | walked(case, 2) | (large or {})}
    tensors = {f"{number}.weights": weights for number, weights in enumerate(right_weights)}
    if first is not None:
        tensors["0.weights"] = first
    return judge_lean_job(Observation(facts, tensors), 0)


def test_adamw_loss_within_the_budget_passes(right_weights) -> None:
    assert judge(right_weights).is_passed


def test_losses_that_are_too_high_are_told(right_weights) -> None:
    start = torch.nn.utils.parameters_to_vector(job_loss_cases(0)[0].make_model().parameters()).detach()
    assert judge(right_weights, first=start).code == "no_update"
    assert judge(right_weights, first=right_weights[0] * torch.nan).code == "diverged"
    between = (0.5 * start + 0.5 * right_weights[0]) + 1e-9
    assert judge(right_weights, first=between).code == "loss_too_high"
    assert judge(right_weights, first=between, changes={"optimizers": ["SGD"]}).code == "steps_of_sgd"
    halfway = right_weights[0].clone()
    halfway[: 2048 * 64] = start[: 2048 * 64]
    assert judge(right_weights, first=halfway).code == "embedding_left_out"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"forwards": 7}, "batches_left_out"),
        ({"forwards": 0}, "model_not_called"),
        ({"batches_seen": [1, 2]}, "other_batches"),
        ({"formats": ["bfloat16"]}, "converted_on_the_way"),
        ({"most_updates": 700}, "updated_twice"),
        ({"state_left_bytes": 4096}, "state_left"),
        ({"forwards": 700}, "epoch_repeated"),
        ({"forwards_waiting": 3}, "graphs_kept"),
        ({"hooks_left": 2}, "hooks_left"),
        ({"gradients_left": 2}, "zeros_left"),
        ({"gradients_left": 2, "is_left_zero": False}, "gradients_left"),
    ],
)
def test_what_a_call_leaves_and_repeats_is_told(right_weights, changes, code: str) -> None:
    assert judge(right_weights, changes=changes).code == code


@pytest.mark.parametrize(
    ("large", "code"),
    [
        ({"gradients_alive": 131, "state_bytes": 45_000_000}, "state_and_gradients_too_large"),
        ({"gradients_alive": 131, "state_bytes": 11_000_000}, "gradients_wait"),
        ({"state_bytes": 45_000_000}, "state_too_large"),
        ({"state_bytes": 11_000_000}, "other_tensors"),
    ],
)
def test_peaks_above_the_budget_are_told(right_weights, large, code: str) -> None:
    held_bytes = job_peak_case(0).budget_bytes + 1
    assert judge(right_weights, held_bytes=held_bytes, large=large).code == code


def test_batches_in_another_order_are_told(right_weights) -> None:
    seen = list(reversed(walked(job_loss_cases(0)[0])["batches_seen"]))
    assert judge(right_weights, changes={"batches_seen": seen, "forwards": len(seen)}).code == "batches_out_of_order"


def test_gradients_that_the_large_model_keeps_are_told(right_weights) -> None:
    assert judge(right_weights, large={"gradients_left": 125}).code == "zeros_left"


def test_one_embedding_left_in_codes_is_told() -> None:
    case = eight_bit_forms_cases(0)[0]
    model = case.make_model()
    named = dict(model.named_parameters())
    tables = [name for name, parameter in named.items() if "embeddings.weight" in name and parameter.numel() >= 4096]
    assert len(tables) == 2
    quantized = [name for name, parameter in named.items() if parameter.numel() >= 4096 and name != tables[0]]
    verdict = _judge_formats(case, [{"uint8": 1} if name in quantized else {} for name in named])
    assert verdict is not None and verdict.code == "one_embedding_quantized"


def test_formats_of_the_state_are_judged_by_module() -> None:
    case = eight_bit_forms_cases(0)[0]
    model = case.make_model()
    tables = {id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Embedding)}
    is_large = [parameter.numel() >= 4096 for parameter in model.parameters()]
    is_table = [id(parameter) in tables for parameter in model.parameters()]
    right = [{"uint8": 1} if large and not table else {} for large, table in zip(is_large, is_table, strict=True)]
    assert _judge_formats(case, right) is None
    assert any(right)
    for formats, code in (
        ([{"uint8": 1} if large else {} for large in is_large], "embeddings_quantized"),
        ([{}] * len(right), "nothing_quantized"),
        ([{"uint8": 1}] * len(right), "other_tensors_quantized"),
    ):
        verdict = _judge_formats(case, formats)
        assert verdict is not None and verdict.code == code
