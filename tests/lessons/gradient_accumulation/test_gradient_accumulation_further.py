"""The further exercises of lesson 02: each misconception is recognised at two sizes and two seeds, without training."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import pytest
import torch
from torch import Tensor

from grader.judging.form_peaks import plain_peak
from grader.judging.lessons.gradient_accumulation.forms import (
    SHARE,
    judge_accumulation_accelerate,
    judge_accumulation_trainer,
)
from grader.judging.lessons.gradient_accumulation.loops import judge_stream_updates
from grader.judging.lessons.gradient_accumulation.micro_batch_size import TABLE, fitting, judge_largest_micro_batch
from grader.judging.proof import prove
from grader.judging.vectors import gradient_at
from grader.lessons.gradient_accumulation.forms import FormsCase, form_peak_case, forms_cases
from grader.lessons.gradient_accumulation.loops import LEARNING_RATE, UpdatesCase, stream_cases
from grader.lessons.gradient_accumulation.micro_batch_size import FitCase, fit_cases
from grader.observation import Observation
from grader.verdict import UNRECOGNISED

SEEDS = (0, 777)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def observe_sizes(choose: Callable[[FitCase], float | None], seed: int) -> Observation:
    return Observation({"chosen": [choose(case) for case in fit_cases(seed)], "reasons": ["nothing fits"]})


def largest_fitting(case: FitCase) -> int | None:
    return max(fitting(case), default=None)


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_fitting_size_passes_and_the_table_names_each_misconception(seed: int) -> None:
    assert judge_largest_micro_batch(observe_sizes(largest_fitting, seed), seed).is_passed
    prove(TABLE, [seed])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_misconception_is_named_whether_or_not_it_raises_when_nothing_fits(seed: int) -> None:
    raising = observe_sizes(lambda case: case.batch if fitting(case) else None, seed)
    returning = observe_sizes(lambda case: case.batch, seed)
    assert judge_largest_micro_batch(raising, seed) == judge_largest_micro_batch(returning, seed)
    assert judge_largest_micro_batch(raising, seed).code == "whole_batch"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_size_where_nothing_fits_has_a_name_of_its_own(seed: int) -> None:
    verdict = judge_largest_micro_batch(observe_sizes(lambda case: largest_fitting(case) or 1, seed), seed)
    assert verdict.code == "nothing_fits_not_raised"
    assert "ValueError" in verdict.expected


def test_sizes_that_no_misconception_explains_are_unrecognised() -> None:
    def second_smallest(case: FitCase) -> int:
        return min(size for size in range(2, case.batch + 1) if case.batch % size == 0)

    assert judge_largest_micro_batch(observe_sizes(second_smallest, 0), 0).code == UNRECOGNISED


def test_a_size_that_does_not_divide_the_batch_is_reported_with_its_number() -> None:
    verdict = judge_largest_micro_batch(observe_sizes(lambda case: 7, 0), 0)
    assert verdict.code == "size_does_not_divide"
    assert "7 rows" in verdict.look_at


def train(
    case: UpdatesCase | FormsCase,
    gradient: Callable[[Tensor, int], Tensor],
    start: Tensor,
    factor: Callable[[int, int], float],
    rate: Callable[[int], float] | None = None,
) -> tuple[dict[str, object], dict[str, Tensor]]:
    """Facts and tensors of an epoch whose micro-batches enter with a factor of (index, size of their group)."""
    weights, events, tensors = start, [], {}
    own_rate = getattr(case, "learning_rate", LEARNING_RATE)
    for update, begin in enumerate(range(0, case.micro_batches, case.k)):
        group = range(begin, min(begin + case.k, case.micro_batches))
        total = sum(factor(index, len(group)) * gradient(weights, index) for index in group)
        tensors |= {f"gradient.{update}": total, f"weights.{update}": weights}
        weights = weights - (rate(update) if rate else own_rate) * total
        events += [*["draw"] * len(group), *["forward", "backward"] * len(group), "update"]
        tensors[f"weights.{update + 1}"] = weights
    rows = [case.rows] * case.micro_batches
    return {"events": events, "forward_rows": rows}, tensors


def stream_gradient(case: UpdatesCase) -> tuple[Callable[[Tensor, int], Tensor], Tensor]:
    model, batches = case.make_model(), case.make_micro_batches()
    start = torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    return partial(
        gradient_at, model, lambda number: case.loss_function(model(batches[number][0]), batches[number][1])
    ), start


@lru_cache
def forms_gradient(case: FormsCase) -> tuple[Callable[[Tensor, int], Tensor], Tensor]:
    model, dataset = case.make_model(), case.make_dataset()
    start = torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    return (
        partial(gradient_at, model, lambda i: model(**dataset[i * case.rows : (i + 1) * case.rows]).loss),
        start,
    )


def observe(cases, gradient_of, factor, calls=None, **options) -> Observation:
    settings, tensors = [], {}
    for number, case in enumerate(cases):
        facts, own = train(case, *gradient_of(case), partial(factor, case), **options)
        settings.append(facts)
        tensors |= {f"{number}.{name}": value for name, value in own.items()}
    facts = {"settings": settings, "held": [1] * len(settings)}
    if calls:
        facts |= {"calls": [calls(case) for case in cases], "claims": [claim_of_share(0.3)]}
    return Observation(facts, tensors)


def claim_of_share(share: float) -> dict[str, object]:
    """Claim a share of the peak of the run without accumulation, all of it but 100 kB above entry."""
    large = form_peak_case(0)
    peak_bytes = int(share * plain_peak(large.make_model, large.make_whole_batches, "cpu").peak_bytes)
    return {"peak_bytes": peak_bytes, "above_entry_bytes": peak_bytes - 100_000, "device": "cpu"}


FACTORS = {
    "passed": lambda case, index, size: 1 / size,
    "gradient_not_averaged": lambda case, index, size: 1.0,
    "gradient_divided_twice": lambda case, index, size: 1 / size**2,
    "short_group_divided_by_k": lambda case, index, size: 1 / case.k,
    "short_group_corrected_the_wrong_way": lambda case, index, size: size / case.k / case.k,
    "cleared_within_group": lambda case, index, size: (index % case.k == size - 1) / size,
    "micro_batches_weighed_unequally": lambda case, index, size: 1 / (index % case.k + 1),
    "cleared_before_update": lambda case, index, size: 0.0,
    "gradient_not_finite": lambda case, index, size: float("nan"),
    "gradient_scaled": lambda case, index, size: 65_536 * 0.7 / size,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", FACTORS)
def test_a_stream_s_gradients_are_explained_by_their_factors(code: str, seed: int) -> None:
    observation = observe(stream_cases(seed), stream_gradient, FACTORS[code])
    assert judge_stream_updates(observation, seed).code == code


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stream_read_further_ahead_than_one_group_is_named(seed: int) -> None:
    right = observe(stream_cases(seed), stream_gradient, FACTORS["passed"])
    for drawn, code in ((10, "whole_epoch_held"), (8, "several_groups_held")):
        events = ["draw"] * drawn + [event for event in right.facts["settings"][0]["events"] if event != "draw"]
        settings = [{**right.facts["settings"][0], "events": events}, *right.facts["settings"][1:]]
        assert judge_stream_updates(Observation(right.facts | {"settings": settings}, right.tensors), seed).code == code
    kept = Observation(right.facts | {"held": [10, 1, 1]}, right.tensors)
    assert judge_stream_updates(kept, seed).code == "used_micro_batches_kept"


def used_in_loop(case: FormsCase) -> dict[str, list[int]]:
    return {"accumulate": [case.k] * case.micro_batches, "trainer": [case.k], "forwards_in_trainer": [0]}


def used_in_trainer(case: FormsCase) -> dict[str, list[int]]:
    return used_in_loop(case) | {"forwards_in_trainer": [case.micro_batches]}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", ["passed", "short_group_divided_by_k"])
def test_both_forms_are_judged_by_their_gradients(code: str, seed: int) -> None:
    for judge, calls, form in (
        (judge_accumulation_accelerate, used_in_loop, "accelerate_"),
        (judge_accumulation_trainer, used_in_trainer, "trainer_"),
    ):
        verdict = judge(observe(forms_cases(seed), forms_gradient, FACTORS[code], calls), seed)
        assert verdict.code == (code if code == "passed" else form + code)


@pytest.mark.parametrize(
    ("rate", "code"),
    [
        (lambda update: 5e-5, "trainer_other_learning_rate"),
        (lambda update: LEARNING_RATE * (1 - update / 3), "trainer_learning_rate_changed"),
    ],
)
def test_a_learning_rate_that_is_not_kept_is_named(rate: Callable[[int], float], code: str) -> None:
    observation = observe(forms_cases(0), forms_gradient, FACTORS["passed"], used_in_trainer, rate=rate)
    verdict = judge_accumulation_trainer(observation, 0)
    assert (verdict.code, "default" in verdict.look_at) == (code, True)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_in_another_order_are_named(seed: int) -> None:
    def shuffled(case: FormsCase) -> tuple[Callable[[Tensor, int], Tensor], Tensor]:
        model, dataset = case.make_model(), case.make_dataset()
        start = torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()
        order = torch.randperm(case.pairs, generator=torch.Generator().manual_seed(1)).tolist()
        rows = [order[i * case.rows : (i + 1) * case.rows] for i in range(case.micro_batches)]
        return partial(gradient_at, model, lambda number: model(**dataset[rows[number]]).loss), start

    verdict = judge_accumulation_trainer(observe(forms_cases(seed), shuffled, FACTORS["passed"], used_in_trainer), seed)
    assert verdict.code == "trainer_rows_in_another_order"


FORMS = {
    "accelerate": (judge_accumulation_accelerate, used_in_loop),
    "trainer": (judge_accumulation_trainer, used_in_trainer),
}
USAGES = [
    (judge_accumulation_accelerate, {"accumulate": []}, "accumulate_not_used"),
    (judge_accumulation_accelerate, {"accumulate": [1]}, "accelerate_without_steps"),
    (judge_accumulation_accelerate, {"accumulate": [99]}, "accelerate_with_other_steps"),
    (judge_accumulation_accelerate, {"forwards_in_trainer": [10]}, "accelerate_loop_not_used"),
    (judge_accumulation_trainer, {"trainer": [1]}, "trainer_without_steps"),
    (judge_accumulation_trainer, {"trainer": [99]}, "trainer_with_other_steps"),
    (judge_accumulation_trainer, {"forwards_in_trainer": [0]}, "trainer_not_used"),
    (judge_accumulation_trainer, {"forwards_in_trainer": [5]}, "trainer_not_used"),
]


@pytest.mark.parametrize(("judge", "changed", "code"), USAGES)
def test_a_form_that_is_not_used_as_asked_is_reported_first(judge, changed, code: str) -> None:
    cases = forms_cases(0)
    used = used_in_loop if judge is judge_accumulation_accelerate else used_in_trainer
    settings = [{"events": [], "forward_rows": [case.rows] * case.micro_batches} for case in cases]
    calls = [used(case) | changed for case in cases]
    assert judge(Observation({"settings": settings, "calls": calls}), 0).code == code


@pytest.mark.parametrize(("share", "code"), [(SHARE - 0.01, "passed"), (SHARE + 0.01, "trainer_tensors_kept")])
def test_a_peak_above_the_bound_fails_although_every_gradient_is_right(share: float, code: str) -> None:
    observation = observe(forms_cases(0), forms_gradient, FACTORS["passed"], used_in_trainer)
    claimed = Observation(observation.facts | {"claims": [claim_of_share(share)]}, observation.tensors)
    assert judge_accumulation_trainer(claimed, 0).code == code


@pytest.mark.parametrize("form", ["accelerate", "trainer"])
def test_the_whole_batch_in_one_forward_is_named_as_accumulation_switched_off(form: str) -> None:
    judge, used = FORMS[form]
    cases = forms_cases(0)
    settings = [{"events": [], "forward_rows": [case.rows * case.k] * 3} for case in cases]
    calls = [used(case) | {"accumulate": [1], "trainer": [1]} for case in cases]
    calls = [own | {"forwards_in_trainer": [3 * (form == "trainer")]} for own in calls]
    assert judge(Observation({"settings": settings, "calls": calls}), 0).code == f"{form}_accumulation_off"
