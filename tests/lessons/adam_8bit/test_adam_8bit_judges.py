"""The judges of lesson 08 know right codes and steps, and name what their banks cannot produce."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.judging.lessons.adam_8bit.blocks import TABLE as BLOCKS
from grader.judging.lessons.adam_8bit.blocks import judge_block_codes
from grader.judging.lessons.adam_8bit.forms import judge_formats
from grader.judging.lessons.adam_8bit.job import judge_lean_job
from grader.judging.lessons.adam_8bit.state_size import TABLE as STATE
from grader.judging.lessons.adam_8bit.steps import TABLE as STEPS
from grader.judging.lessons.adam_8bit.steps import judge_eight_bit_steps
from grader.lessons.adam_8bit.blocks import block_cases
from grader.lessons.adam_8bit.forms import eight_bit_forms_cases
from grader.lessons.adam_8bit.job import job_loss_cases, job_peak_case
from grader.lessons.adam_8bit.updates import EIGHT_BIT_STEPS, eight_bit_cases
from grader.observation import Observation
from grader.testbed.word_sorter import batch_number

SEEDS = (0, 20_011)


def describe(tensor: torch.Tensor) -> dict[str, object]:
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}


def judge_codes(seed: int, *, scale: float = 1.0, dtype: torch.dtype = torch.uint8) -> str:
    settings, tensors = [], {}
    for number, (case, (codes, scales)) in enumerate(zip(block_cases(seed), BLOCKS.truths(seed), strict=True)):
        codes, scales = codes.view(case.shape).to(dtype), scale * scales
        settings.append({"codes": describe(codes), "scales": describe(scales)})
        settings[-1] |= {"is_changed": False, "is_book_changed": False}
        tensors |= {f"{number}.codes": codes, f"{number}.scales": scales}
    return judge_block_codes(Observation({"settings": settings}, tensors), seed).code


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_codes_pass_in_one_byte(seed: int) -> None:
    assert judge_codes(seed) == "passed"
    assert judge_codes(seed, dtype=torch.int64) == "codes_not_in_one_byte"
    assert judge_codes(seed, scale=float("nan")) == "scale_not_finite"
    assert judge_codes(seed, scale=0.5) == "scale_times_a_factor"


def test_the_reference_gives_each_number_its_nearest_code() -> None:
    for case, (codes, scales) in zip(block_cases(1), BLOCKS.truths(1), strict=True):
        blocks = case.make_values().flatten().split(case.block_size)
        for block, scale, own in zip(blocks, scales, codes.split(case.block_size), strict=True):
            assert scale == block.abs().max()
            distances = (case.make_code_book() - block[:, None] / (scale if scale else 1.0)).abs()
            assert torch.allclose(distances.gather(1, own[:, None])[:, 0], distances.amin(dim=1), atol=1e-7)


def right_formats(case: Any) -> list[dict[str, int]]:
    formats = []
    for index, shape in enumerate(case.shapes):
        numbers = torch.Size(shape).numel()
        codes = {"uint8": 2 * numbers, "float32": 2 * -(-numbers // 256)}
        formats.append(codes if case.is_quantized(index) else {"float32": 2 * numbers})
        if case.first_steps.get(index, 1) > EIGHT_BIT_STEPS:
            formats[-1] = {}
    return formats


def judge_steps(seed: int, first_formats: dict[int, dict[str, int]] | None = None, **changes: Any) -> str:
    settings, tensors = [], {}
    for number, (case, rows) in enumerate(zip(eight_bit_cases(seed), STEPS.truths(seed), strict=True)):
        formats = right_formats(case)
        for index, found in (first_formats or {}).items() if number == 0 else ():
            formats[index] = found
        clean = {"gradients_removed": 0, "options_changed": [], "kept_numbers": 0, "formats": formats}
        settings.append(clean | {"is_gradient_changed": [False] * len(rows)} | changes)
        tensors |= {f"{number}.{index}": row[1:].clone() for index, row in enumerate(rows)}
    return judge_eight_bit_steps(Observation({"settings": settings}, tensors), seed).code


@pytest.mark.parametrize("seed", SEEDS)
def test_right_steps_pass(seed: int) -> None:
    assert judge_steps(seed) == "passed"


@pytest.mark.parametrize(
    ("index", "formats", "code"),
    [
        (1, {"uint8": 8190, "float32": 32}, "small_tensors_not_float32"),
        (1, {}, "moments_kept_elsewhere"),
        (1, {"float32": 3 * 4095}, "small_state_too_large"),
        (0, {"uint8": 10_900}, "scales_kept_elsewhere"),
        (0, {"uint8": 5_450, "float32": 22}, "codes_of_one_moment"),
        (0, {"uint8": 16_350, "float32": 44}, "too_many_codes"),
        (0, {"uint8": 10_900, "float32": 44 + 1024}, "code_books_for_each_tensor"),
    ],
)
def test_other_formats_of_the_state_are_named(index: int, formats: dict[str, int], code: str) -> None:
    assert eight_bit_cases(0)[0].shapes[0] == (50, 109)
    assert judge_steps(0, {index: formats}) == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"gradients_removed": 1}, "gradient_removed"),
        ({"options_changed": ["lr"]}, "options_changed"),
        ({"kept_numbers": 10_000}, "moments_kept_outside_the_state"),
    ],
)
def test_a_step_changes_nothing_but_weights_and_state(changes: dict[str, Any], code: str) -> None:
    assert judge_steps(0, **changes) == code


def test_steps_that_are_not_finite_fail() -> None:
    case, rows = eight_bit_cases(0)[0], STEPS.truths(0)
    values = [list(rows[0]), *rows[1:]]
    values[0][0] = torch.full_like(rows[0][0], torch.nan)
    assert not STEPS.answer(0, values).is_right and case.is_quantized(0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "is_changed", "first", "factor"),
    [
        ("codes_wrong", True, 2, 1.5),
        ("small_tensors_wrong", False, 1, 1.5),
        ("tensor_left_out", False, 1, 0.0),
    ],
)
def test_tensors_whose_steps_alone_are_wrong_are_named(
    seed: int, code: str, is_changed: bool, first: int, factor: float
) -> None:
    """The steps of the large tensors, or of the small ones, are longer from one step on, or missing."""
    values = [[row.clone() for row in rows] for rows in STEPS.truths(seed)]
    for case, rows in zip(eight_bit_cases(seed), values, strict=True):
        for index, row in enumerate(rows):
            if case.is_quantized(index) is is_changed:
                row[first:] = row[0] + factor * (row[first:] - row[0])
    assert STEPS.find(STEPS.answer(seed, values)).code == code


def test_a_state_that_is_wrong_for_small_tensors_alone_is_named() -> None:
    values = list(STATE.truths(0))
    values[2] += 3
    assert STATE.find(STATE.answer(0, values)).code == "small_tensors_wrong"


FINE = {"hooks_left": 0, "gradients_left": 0, "is_left_zero": True, "forwards_waiting": 1, "gradients_alive": 1}
FINE |= {"optimizers": ["AdamW"], "optimizers_made": 1, "state_bytes": 0, "state_left_bytes": 0, "most_updates": 1}
FINE |= {"formats": ["float32"], "is_embedding_in_codes": False}


@pytest.fixture(scope="module")
def right_weights() -> list[torch.Tensor]:
    """Return the weights that AdamW leads to in each of the small jobs."""
    weights = []
    for case in job_loss_cases(0):
        model = case.make_model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
        for words, topics in case.make_batches():
            optimizer.zero_grad()
            model(words, topics).backward()
            optimizer.step()
        weights.append(torch.nn.utils.parameters_to_vector(model.parameters()).detach())
    return weights


def judge_job(
    right_weights: list[torch.Tensor],
    *,
    held_bytes: int = 0,
    first: torch.Tensor | None = None,
    changes: dict[str, Any] | None = None,
    large: dict[str, Any] | None = None,
) -> str:
    def walked(case: Any, calls: int = 1) -> dict[str, object]:
        seen = calls * [batch_number(words) for words, _ in case.make_batches()]
        return {"forwards": len(seen), "batches_seen": seen}

    cases, case = job_loss_cases(0), job_peak_case(0)
    entry = sum(parameter.nbytes for parameter in case.make_model().parameters())
    claim = {"peak_bytes": entry + held_bytes, "above_entry_bytes": held_bytes, "device": "cpu"}
    facts = {"settings": [FINE | walked(small) | (changes or {}) for small in cases], "claims": [claim]}
    facts |= {"large": FINE | walked(case, 2) | (large or {})}
    tensors = {f"{number}.weights": weights for number, weights in enumerate(right_weights)}
    tensors |= {} if first is None else {"0.weights": first}
    return judge_lean_job(Observation(facts, tensors), 0).code


def test_losses_that_are_too_high_are_named(right_weights) -> None:
    start = torch.nn.utils.parameters_to_vector(job_loss_cases(0)[0].make_model().parameters()).detach()
    assert judge_job(right_weights) == "passed"
    assert judge_job(right_weights, first=start) == "no_update"
    assert judge_job(right_weights, first=right_weights[0] * torch.nan) == "diverged"
    between = (0.5 * start + 0.5 * right_weights[0]) + 1e-9
    assert judge_job(right_weights, first=between) == "loss_too_high"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"forwards": 7}, "batches_left_out"),
        ({"forwards": 700}, "epoch_repeated"),
        ({"most_updates": 700}, "updated_twice"),
        ({"state_left_bytes": 4096}, "state_left"),
        ({"gradients_left": 2, "is_left_zero": False}, "gradients_left"),
    ],
)
def test_what_a_job_repeats_and_leaves_is_named(right_weights, changes: dict[str, Any], code: str) -> None:
    assert judge_job(right_weights, changes=changes) == code


@pytest.mark.parametrize(
    ("large", "code"),
    [
        ({"gradients_alive": 131, "state_bytes": 45_000_000}, "state_and_gradients_too_large"),
        ({"gradients_alive": 131, "state_bytes": 11_000_000}, "gradients_wait"),
        ({"state_bytes": 45_000_000}, "state_too_large"),
        ({"state_bytes": 11_000_000}, "other_tensors"),
    ],
)
def test_peaks_above_the_budget_are_named(right_weights, large: dict[str, Any], code: str) -> None:
    assert judge_job(right_weights, held_bytes=job_peak_case(0).budget_bytes + 1, large=large) == code


def test_codes_for_the_embedding_are_rejected_on_every_device(right_weights) -> None:
    assert judge_job(right_weights, large={"is_embedding_in_codes": True}) == "embedding_in_codes"


def test_formats_of_the_state_are_judged_by_module() -> None:
    case = eight_bit_forms_cases(0)[0]
    model = case.make_model()
    tables = {id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Embedding)}
    is_large = [parameter.numel() >= 4096 for parameter in model.parameters()]
    is_table = [id(parameter) in tables for parameter in model.parameters()]
    right = [{"uint8": 1} if large and not table else {} for large, table in zip(is_large, is_table, strict=True)]
    assert judge_formats(case, {"formats": right}) is None and any(right)
    assert sum(large and table for large, table in zip(is_large, is_table, strict=True)) == 2
    for formats, code in (
        ([{"uint8": 1} if large else {} for large in is_large], "embeddings_quantized"),
        ([{}] * len(right), "nothing_quantized"),
        ([{"uint8": 1}] * len(right), "other_tensors_quantized"),
    ):
        verdict = judge_formats(case, {"formats": formats})
        assert verdict is not None and verdict.code == code
