"""A training loop is judged by its updates: where they happen, with which gradient, and where they lead."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from grader.judging.updates import Reference, judge_updates
from grader.verdict import Verdict

SEEDS = (0, 20011)
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


def test_a_last_group_that_updates_after_each_micro_batch_is_named() -> None:
    verdict = judge_epoch(make_epoch(10, 4, 0), mean, places=[4, 8, 9, 10])
    assert verdict is not None
    assert verdict.code == "last_group_updates_each_time"


@pytest.mark.parametrize(("micro_batches", "k"), [*SIZES, (3, 5), (6, 3)])
def test_a_right_epoch_has_no_verdict(micro_batches: int, k: int) -> None:
    assert judge_epoch(make_epoch(micro_batches, k, 0), mean) is None


@pytest.mark.parametrize(("micro_batches", "k"), SIZES)
def test_a_changed_learning_rate_is_named(micro_batches: int, k: int) -> None:
    verdict = judge_epoch(make_epoch(micro_batches, k, 0), mean, rate=k * LEARNING_RATE)
    assert verdict is not None
    assert verdict.code == "other_learning_rate"


@pytest.mark.parametrize(("micro_batches", "k"), SIZES)
def test_a_division_by_the_epoch_reports_its_number(micro_batches: int, k: int) -> None:
    verdict = judge_epoch(make_epoch(micro_batches, k, 0), FACTORS["divided_by_another_number"])
    assert verdict is not None
    assert f"a division by {micro_batches}" in verdict.measured
