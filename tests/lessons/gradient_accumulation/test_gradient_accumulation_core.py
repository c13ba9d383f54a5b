from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from grader.judging.lessons.gradient_accumulation import peak
from grader.judging.lessons.gradient_accumulation.peak import judge_predicted_peak
from grader.judging.lessons.gradient_accumulation.token_reference import (
    TokenReference,
    gradients_of_other_losses,
    make_reference,
)
from grader.judging.lessons.gradient_accumulation.tokens import judge_token_gradients
from grader.judging.updates import Reference, judge_updates
from grader.lessons.gradient_accumulation.peak import peak_cases
from grader.lessons.gradient_accumulation.tokens import token_cases
from grader.observation import Observation
from grader.verdict import Verdict

SEEDS = (0, 20011)


# The predicted peak


@pytest.fixture
def computed_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The formula stands for the meter, so that a test takes no forward."""

    def forecast(prepare: object, *, operators: str) -> SimpleNamespace:
        return SimpleNamespace(peak_bytes=peak.peak(prepare.__self__))

    monkeypatch.setattr(peak, "forecast_peak_memory", forecast)


def judge_peaks(predicted: Sequence[float], seed: int) -> str:
    return judge_predicted_peak(Observation({"predicted_bytes": list(predicted)}), seed).code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", peak.MISTAKES, ids=lambda mistake: mistake.code)
@pytest.mark.usefixtures("computed_peaks")
def test_every_misconception_of_the_peak_is_named(mistake, seed: int) -> None:
    assert judge_peaks([mistake.yields(case) for case in peak_cases(seed)], seed) == mistake.code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("computed_peaks")
def test_a_peak_within_three_percent_passes(seed: int) -> None:
    assert judge_peaks([0.98 * peak.peak(case) for case in peak_cases(seed)], seed) == "passed"


@pytest.mark.usefixtures("computed_peaks")
def test_rounded_mebibytes_are_named_as_a_unit() -> None:
    assert judge_peaks([peak.peak(case) // 2**20 for case in peak_cases(1)], 1) == "mebibytes_for_bytes"


@pytest.mark.usefixtures("computed_peaks")
def test_peaks_of_the_visible_case_are_named_on_another() -> None:
    assert judge_peaks([peak.peak(case) for case in peak_cases(0)], 20011) == "visible_case_hard_coded"


@pytest.mark.usefixtures("computed_peaks")
def test_one_number_for_each_k_ignores_the_activations() -> None:
    assert judge_peaks([1e9 / case.k for case in peak_cases(0)], 0) == "activations_ignored"


@pytest.mark.usefixtures("computed_peaks")
def test_unexplained_peaks_are_not_given_a_name() -> None:
    assert judge_peaks([1e9, 2e9, 3e9, 4e9], 0) == "unrecognised"


# The updates of an epoch

SIZES = ((10, 4), (11, 5))
LEARNING_RATE = 0.1
Weights = Callable[[int, int, int], list[float]]  # of micro-batches, size of the group, k

FACTORS: dict[str, Weights] = {
    "gradient_not_averaged": lambda n, size, k: [1.0] * size,
    "short_group_divided_by_k": lambda n, size, k: [1 / k] * size,
    "gradient_divided_twice": lambda n, size, k: [1 / size**2] * size,
    "divided_by_another_number": lambda n, size, k: [1 / n] * size,
    "gradient_scaled": lambda n, size, k: [1024 / size] * size,
    "cleared_within_group": lambda n, size, k: [0.0] * (size - 1) + [1 / size],
    "cleared_before_update": lambda n, size, k: [0.0] * size,
    "micro_batches_weighed_unequally": lambda n, size, k: [1 / (position + 1) for position in range(size)],
}

PLACES: dict[str, dict[tuple[int, int], list[int]]] = {
    "no_update": {(10, 4): [], (11, 5): []},
    "update_every_micro_batch": {(10, 4): list(range(1, 11)), (11, 5): list(range(1, 12))},
    "update_at_index_zero": {(10, 4): [1, 5, 9, 10], (11, 5): [1, 6, 11]},
    "last_group_lost": {(10, 4): [4, 8], (11, 5): [5, 10]},
    "one_update_only": {(10, 4): [10], (11, 5): [11]},
    "update_one_too_late": {(10, 4): [5, 9, 10], (11, 5): [6, 11]},
    "last_group_joined": {(10, 4): [4, 10], (11, 5): [5, 11]},
    "k_taken_for_updates": {(10, 4): [3, 6, 9, 10], (11, 5): [3, 6, 9, 11]},
    "updates_misplaced": {(10, 4): [7], (11, 5): [7]},
}


def make_epoch(micro_batches: int, k: int, seed: int) -> Reference:
    """An epoch whose gradients are random vectors, whatever the weights."""
    gradients = torch.randn(micro_batches, 64, generator=torch.Generator().manual_seed(seed))
    return Reference(micro_batches, k, 2, LEARNING_RATE, lambda weights, number: gradients[number])


def judge_epoch(
    reference: Reference, weigh: Weights, *, places: list[int] | None = None, rate: float = LEARNING_RATE
) -> Verdict | None:
    """Judge an epoch that updates at `places`, each time with the weighted sum of the group's gradients."""
    places = reference.boundaries if places is None else places
    weights, tensors, start = torch.zeros(64), {}, 0
    events = ["forward", "backward"] * (places[0] if places else reference.micro_batches)
    for update, end in enumerate(places):
        parts = [reference.gradient(weights, number) for number in range(start, end)]
        factors = weigh(reference.micro_batches, len(parts), reference.k)
        gradient = torch.stack([part * factor for part, factor in zip(parts, factors, strict=True)]).sum(dim=0)
        tensors |= {f"gradient.{update}": gradient, f"weights.{update}": weights}
        weights, start = weights - rate * gradient, end
        following = places[update + 1] if update + 1 < len(places) else reference.micro_batches
        events += ["update", *["forward", "backward"] * (following - end)]
    facts = {"events": events, "forward_rows": [reference.rows] * reference.micro_batches}
    return judge_updates(facts, tensors | {f"weights.{len(places)}": weights}, reference)


def mean(micro_batches: int, size: int, k: int) -> list[float]:
    return [1 / size] * size


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("micro_batches", "k"), SIZES)
@pytest.mark.parametrize("code", FACTORS)
def test_every_wrong_gradient_is_named(code: str, micro_batches: int, k: int, seed: int) -> None:
    verdict = judge_epoch(make_epoch(micro_batches, k, seed), FACTORS[code])
    assert verdict is not None
    assert verdict.code == code


@pytest.mark.parametrize(("micro_batches", "k"), SIZES)
@pytest.mark.parametrize("code", PLACES)
def test_every_wrong_place_of_an_update_is_named(code: str, micro_batches: int, k: int) -> None:
    verdict = judge_epoch(make_epoch(micro_batches, k, 0), mean, places=PLACES[code][micro_batches, k])
    assert verdict is not None
    assert verdict.code == code


@pytest.mark.parametrize(("micro_batches", "k"), [*SIZES, (3, 5), (6, 3)])
def test_a_right_epoch_has_no_verdict(micro_batches: int, k: int) -> None:
    assert judge_epoch(make_epoch(micro_batches, k, 0), mean) is None


@pytest.mark.parametrize(("micro_batches", "k"), SIZES)
def test_a_changed_learning_rate_is_named(micro_batches: int, k: int) -> None:
    verdict = judge_epoch(make_epoch(micro_batches, k, 0), mean, rate=k * LEARNING_RATE)
    assert verdict is not None
    assert verdict.code == "other_learning_rate"


@pytest.mark.parametrize(("micro_batches", "k"), SIZES)
def test_a_division_by_the_epoch_is_told_with_its_number(micro_batches: int, k: int) -> None:
    verdict = judge_epoch(make_epoch(micro_batches, k, 0), FACTORS["divided_by_another_number"])
    assert verdict is not None
    assert f"a division by {micro_batches}" in verdict.measured


# Gradients over unequal numbers of tokens

Yields = Callable[[TokenReference], Tensor]


def weighted(reference: TokenReference, weights: Sequence[float]) -> Tensor:
    parts = zip(reference.sums, weights, strict=True)
    return torch.stack([part * weight for part, weight in parts]).sum(dim=0)


def inverse(counts: Sequence[int]) -> list[float]:
    return [1 / max(count, 1) for count in counts]


TOKEN_GRADIENTS: dict[str, Yields] = {
    "mean_of_means": lambda r: weighted(r, inverse(r.tokens)) / len(r.sums),
    "sum_of_means": lambda r: weighted(r, inverse(r.tokens)),
    "sum_not_divided": lambda r: r.total,
    "padding_counted": lambda r: r.total / (sum(r.rows) * r.time),
    "divided_by_micro_batches": lambda r: r.total / len(r.sums),
    "divided_by_rows": lambda r: r.total / sum(r.rows),
    "first_count_for_all": lambda r: r.total / r.tokens[0],
    "last_count_for_all": lambda r: r.total / r.tokens[-1],
    "count_so_far": lambda r: weighted(r, inverse([sum(r.tokens[: i + 1]) for i in range(len(r.tokens))])),
    "divided_twice": lambda r: r.mean / len(r.sums),
    "multiplied_by_micro_batches": lambda r: r.mean * len(r.sums),
    "cleared_between": lambda r: r.sums[-1] / sum(r.tokens),
    "divided_by_another_count": lambda r: r.total / (sum(r.tokens) + 1),
    "gradient_scaled": lambda r: r.mean * 1024.3,
    "tokens_weighed_unequally": lambda r: weighted(r, r.tokens),
    "no_gradient": lambda r: torch.zeros_like(r.total),
    "mean_of_no_tokens": lambda r: r.total * float("nan"),
}

LOSSES: dict[str, Callable[[TokenReference], float]] = {
    "summed_loss_returned": lambda r: sum(r.losses),
    "mean_of_mean_losses_returned": lambda r: (
        sum(loss * weight for loss, weight in zip(r.losses, inverse(r.tokens), strict=True)) / len(r.losses)
    ),
    "loss_divided_by_micro_batches": lambda r: r.loss / len(r.losses),
    "last_loss_returned": lambda r: r.losses[-1] / r.tokens[-1],
    "other_loss_returned": lambda r: 2 * r.loss,
    "not_finite": lambda r: float("nan"),
}


@functools.cache
def make_references(seed: int) -> list[TokenReference]:
    return [make_reference(case) for case in token_cases(seed)]


def judge_tokens(seed: int, gradient_of: Yields, loss_of: Callable[[TokenReference], float], rows: int = 1) -> str:
    references = make_references(seed)
    settings = [{"events": [], "forward_rows": [rows], "loss": loss_of(reference)} for reference in references]
    tensors = {f"{index}.gradient": gradient_of(reference) for index, reference in enumerate(references)}
    return judge_token_gradients(Observation({"settings": settings}, tensors), seed).code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", TOKEN_GRADIENTS)
def test_every_wrong_token_gradient_is_named(code: str, seed: int) -> None:
    assert judge_tokens(seed, TOKEN_GRADIENTS[code], lambda reference: reference.loss) == code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", LOSSES)
def test_every_wrong_returned_loss_is_named(code: str, seed: int) -> None:
    assert judge_tokens(seed, lambda reference: reference.mean, LOSSES[code]) == code


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gradient_of_another_loss_is_named(seed: int) -> None:
    settings = [{"events": [], "forward_rows": [1], "loss": 1.0} for _ in token_cases(seed)]
    for known in zip(*(gradients_of_other_losses(case) for case in token_cases(seed)), strict=True):
        tensors = {f"{index}.gradient": gradient for index, (_, gradient, _) in enumerate(known)}
        told = judge_token_gradients(Observation({"settings": settings}, tensors), seed).code
        assert told == known[0][0]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gradient_of_the_mean_over_all_tokens_passes(seed: int) -> None:
    assert judge_tokens(seed, lambda reference: reference.mean, lambda reference: reference.loss) == "passed"


def test_a_forward_of_more_rows_than_a_micro_batch_has_is_named() -> None:
    told = judge_tokens(0, lambda reference: reference.mean, lambda reference: reference.loss, rows=8)
    assert told == "whole_batch_in_one_forward"
