"""The further exercises of lesson 03: each misconception is recognised at two sizes and two seeds, without training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.judging.form_peaks import plain_peak
from grader.judging.lessons.gradient_checkpointing import forms
from grader.judging.lessons.gradient_checkpointing.faults import faults_of, judge_found_faults
from grader.judging.lessons.gradient_checkpointing.forms import (
    judge_checkpointing_accelerate,
    judge_checkpointing_trainer,
)
from grader.judging.updates import Reference
from grader.lessons.gradient_checkpointing.faults import FAULTS, faults_cases
from grader.lessons.gradient_checkpointing.forms import FormsCase, form_peak_case, forms_cases
from grader.observation import Observation

SEEDS = (0, 20_011)
Facts = dict[str, Any]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


# Faults found


def judge_faults(seed: int, find: Callable[[frozenset[str]], set[str]]) -> str:
    return judge_found_faults(
        Observation({"found": [sorted(find(faults_of(case))) for case in faults_cases(seed)]}), seed
    ).code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_is_missed_reported_or_turned_round_is_named(name: str, seed: int) -> None:
    assert judge_faults(seed, lambda faults: set(faults) - {name}) == f"{name}_missed"
    assert judge_faults(seed, lambda faults: set(faults) | {name}) == f"{name}_reported"
    assert judge_faults(seed, lambda faults: set(faults) ^ {name}) == f"{name}_turned_round"


@pytest.mark.parametrize("seed", SEEDS)
def test_every_fault_found_passes_and_a_fault_implied_by_another_is_named(seed: int) -> None:
    assert judge_faults(seed, set) == "passed"
    implied = {"parameter_gradients"}
    code = judge_faults(seed, lambda faults: faults | (implied if "input_without_gradient" in faults else set()))
    assert code == "parameter_gradients_implied_by_input_without_gradient"


# Two forms


@pytest.fixture
def random_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random vectors stand for the gradients of the model, whatever the weights."""

    def make_reference(case: FormsCase) -> Reference:
        gradients = torch.randn(case.updates, 32, generator=torch.Generator().manual_seed(case.seed))
        return Reference(case.updates, 1, case.rows, case.learning_rate, lambda weights, number: gradients[number])

    monkeypatch.setattr(forms, "_make_reference", make_reference)


Change = Callable[[Facts, Facts, dict[str, Tensor]], None]


def judge_form(form: str, seed: int, change: Change, share: float = 0.3) -> str:
    """Judge a right run of one form after `change(facts, calls, tensors)` of each setting; its peak has this share."""
    deep = form_peak_case(seed)
    peak_bytes = int(share * plain_peak(deep.make_model, deep.make_batches, "cpu").peak_bytes)
    claim = {"peak_bytes": peak_bytes, "above_entry_bytes": peak_bytes - 500_000, "device": "cpu"}
    settings, all_calls, named = [], [], {}
    for index, case in enumerate(forms_cases(seed)):
        n, reference = case.updates, forms._make_reference(case)
        facts: Facts = {"events": ["forward", "backward", "update"] * n, "forward_rows": [case.rows] * n}
        facts |= {"is_training": [True] * n, "part_runs": [0] * n + [1, 2] * 2 * n}
        calls: Facts = {"prepared": ["model", "optimizer"], "backward": [1] * n, "trainer": [1]}
        calls["used"] = ["optimizer"] * n
        calls["forwards_in_trainer"] = [n if form == "trainer" else 0]
        weights, tensors = torch.zeros(32), {}
        for update in range(n):
            tensors |= {f"weights.{update}": weights, f"gradient.{update}": reference.gradient(weights, update)}
            weights = weights - case.learning_rate * tensors[f"gradient.{update}"]
        tensors[f"weights.{n}"] = weights
        change(facts, calls, tensors)
        settings.append(facts)
        all_calls.append(calls)
        named |= {f"{index}.{name}": value for name, value in tensors.items()}
    judge = judge_checkpointing_trainer if form == "trainer" else judge_checkpointing_accelerate
    return judge(Observation({"settings": settings, "calls": all_calls, "claims": [claim]}, named), seed).code


def part_runs(embeddings: int, *layers: int, is_training: bool = True) -> Change:
    """Change how often each part runs for each forward."""

    def change(facts: Facts, calls: Facts, tensors: dict[str, Tensor]) -> None:
        forwards = len(facts["forward_rows"])
        runs = [part for part, times in enumerate((embeddings, *layers)) for _ in range(times * forwards)]
        facts.update(part_runs=runs, is_training=[is_training] * forwards)

    return change


def forwards_of(rows: int, forwards: int) -> Change:
    """Change how many forwards there are, and their rows."""

    def change(facts: Facts, calls: Facts, tensors: dict[str, Tensor]) -> None:
        facts.update(forward_rows=[rows] * forwards, part_runs=[0, 1, 1, 2, 2] * forwards, is_training=[True])
        calls["forwards_in_trainer"] = [forwards if calls["forwards_in_trainer"] != [0] else 0]

    return change


def gradients_times(factor: float) -> Change:
    return lambda facts, calls, tensors: tensors.update(
        {name: factor * value for name, value in tensors.items() if name.startswith("gradient")}
    )


FORM_MISTAKES: dict[str, tuple[str, Change]] = {
    "accelerate_recomputed_too_often": ("accelerate", part_runs(1, 3, 3)),
    "trainer_row_by_row": ("trainer", forwards_of(1, 9)),
    "accelerate_other_rows": ("accelerate", forwards_of(2, 9)),
    "trainer_gradient_scaled": ("trainer", gradients_times(512.5)),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", FORM_MISTAKES)
@pytest.mark.usefixtures("random_gradients")
def test_every_mistake_of_a_form_is_named(code: str, seed: int) -> None:
    form, change = FORM_MISTAKES[code]
    assert judge_form(form, seed, change) == code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ("accelerate", "trainer"))
@pytest.mark.usefixtures("random_gradients")
def test_a_right_form_passes(form: str, seed: int) -> None:
    assert judge_form(form, seed, lambda facts, calls, tensors: None) == "passed"


@pytest.mark.parametrize("form", ("accelerate", "trainer"))
@pytest.mark.usefixtures("random_gradients")
def test_a_peak_above_the_bound_fails_although_everything_else_is_right(form: str) -> None:
    assert judge_form(form, 0, lambda facts, calls, tensors: None, forms.SHARE + 0.01) == f"{form}_tensors_kept"
