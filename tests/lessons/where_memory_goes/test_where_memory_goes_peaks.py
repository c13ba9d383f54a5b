"""The judges of the predicted and of the extrapolated peak name every misconception by its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from grader.judging.lessons.where_memory_goes import step_truth
from grader.judging.lessons.where_memory_goes.extrapolation import judge_extrapolated_peak
from grader.judging.lessons.where_memory_goes.line_mistakes import (
    LINE_MISTAKES,
    fixed_bytes,
    layer_bytes,
    peak_bytes,
    truth,
)
from grader.judging.lessons.where_memory_goes.step_explanations import FORMS, RIGHT_FORM, Form
from grader.judging.lessons.where_memory_goes.step_patterns import UNITS
from grader.judging.lessons.where_memory_goes.step_peak import judge_step_peak
from grader.judging.lessons.where_memory_goes.step_pieces import CHANGES, Change
from grader.judging.lessons.where_memory_goes.step_sizes import BACKWARD, RIGHT, UPDATE, WRONG_SIZES, Counts, OtherSizes
from grader.lessons.where_memory_goes.extrapolation import ExtrapolationCase, extrapolation_cases
from grader.lessons.where_memory_goes.step_peak import ChainStep, step_cases
from grader.observation import Observation
from grader.verdict import Verdict

SEEDS = (0, 20011)
COMBINE: dict[str, Callable[[int, int], float]] = {
    "larger": max,
    "smaller": min,
    "sum": lambda backward, update: backward + update,
    "mean": lambda backward, update: (backward + update) / 2,
    "backward": lambda backward, update: backward,
    "update": lambda backward, update: update,
}


def by_code(mistake) -> str:
    return mistake.code


# The predicted peak


def form_of(kind: str) -> Form:
    """Return the form that takes one moment alone."""
    return next(form for form in FORMS if form.kind == kind)


def predict(
    case: ChainStep, changes: Sequence[Change] = (), form: Form = RIGHT_FORM, other_sizes: OtherSizes = RIGHT
) -> float:
    """Compute a peak as a learner with these misconceptions does."""
    sizes = other_sizes.sizes(case)

    def elements(*counts: Counts) -> int:
        return sum(count * sizes[name] for part in counts for name, count in part.items())

    backward = elements(BACKWARD, *(change.backward for change in changes))
    update = elements(UPDATE, *(change.update for change in changes))
    return 4 * (COMBINE[form.kind](backward, update) + elements(form.added))


@pytest.fixture(autouse=True)
def computed_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The formula stands for the meter, so that a test runs no forecast; tests/cases shows that they are equal."""

    def forecast(case: ChainStep) -> SimpleNamespace:
        is_in_update = predict(case, form=form_of("update")) > predict(case, form=form_of("backward"))
        sample = SimpleNamespace(phase="optimizer" if is_in_update else "backward")
        return SimpleNamespace(peak_bytes=predict(case), peak_sample=sample)

    monkeypatch.setattr(step_truth, "_forecast", forecast)


def judge_steps(seed: int, yields: Callable[[ChainStep], float]) -> Verdict:
    return judge_step_peak(Observation({"predicted_bytes": [yields(case) for case in step_cases(seed)]}), seed)


def change(code: str) -> Change:
    return next(known for known in CHANGES if known.code == code)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", CHANGES, ids=by_code)
def test_every_piece_left_out_or_counted_twice_is_named(mistake: Change, seed: int) -> None:
    assert judge_steps(seed, lambda case: predict(case, [mistake])).code == mistake.code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", WRONG_SIZES, ids=by_code)
def test_every_wrong_size_is_named(mistake: OtherSizes, seed: int) -> None:
    assert judge_steps(seed, lambda case: predict(case, other_sizes=mistake)).code == mistake.code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", [form for form in FORMS if form.code], ids=by_code)
def test_every_wrong_combination_of_the_moments_is_named(form: Form, seed: int) -> None:
    assert judge_steps(seed, lambda case: predict(case, form=form)).code == form.code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("unit", UNITS, ids=by_code)
def test_every_wrong_unit_is_named(unit, seed: int) -> None:
    assert judge_steps(seed, unit.yields).code == unit.code


@pytest.mark.parametrize(("divisor", "code"), [(2**20, "mebibytes_for_bytes"), (10**6, "megabytes_for_bytes")])
def test_a_rounded_figure_is_named_as_a_unit(divisor: int, code: str) -> None:
    assert judge_steps(0, lambda case: round(predict(case) / divisor)).code == code


@pytest.mark.parametrize("number_type", [int, float])
def test_the_right_bytes_pass_as_any_number(number_type: type) -> None:
    assert judge_steps(0, lambda case: number_type(predict(case))).code == "passed"


def test_a_byte_too_many_fails() -> None:
    assert judge_steps(0, lambda case: predict(case) + 1).code == "nearly_right"


PATTERNS: dict[str, Callable[[ChainStep], float]] = {
    "one_number_for_all": lambda case: 180_077_832,
    "another_unit": lambda case: predict(case) / 2**30,
    "other_moment_chosen": lambda case: predict(case, form=form_of("backward" if case.batch > 512 else "update")),
    "blocks_misapplied": lambda case: predict(case) + (case.blocks - 1) * 10**6,
    "shape_of_the_lesson": lambda case: predict(case) + (case.hidden - 4 * case.width) * 10**6,
    "unrecognised": lambda case: 10**6 * case.batch,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", PATTERNS)
def test_every_pattern_of_unexplained_answers_is_named(code: str, seed: int) -> None:
    assert judge_steps(seed, PATTERNS[code]).code == code


@pytest.mark.parametrize("seed", SEEDS)
def test_three_slips_are_told_each_with_its_bytes(seed: int) -> None:
    slips = [change("input_forgotten"), change("step_counters_forgotten"), change("loss_forgotten")]
    verdict = judge_steps(seed, lambda case: predict(case, slips))
    case = step_cases(seed)[0]
    assert verdict.code == "several_pieces"
    assert f"missing: the input, {4 * case.batch * case.width:,} bytes" in verdict.measured
    assert f"missing: the step counters, {16 * case.blocks:,} bytes" in verdict.measured
    assert "missing: the loss and its gradient, 8 bytes" in verdict.measured


def test_a_slip_beside_a_wrong_size_is_told_too() -> None:
    wrong_size = next(known for known in WRONG_SIZES if known.code == "gelu_input_forgotten")
    verdict = judge_steps(0, lambda case: predict(case, [change("input_forgotten")], other_sizes=wrong_size))
    assert verdict.code == "several_pieces"
    assert wrong_size.says in verdict.measured
    assert "missing: the input" in verdict.measured


def test_a_slip_of_one_moment_is_told_with_the_batches_that_are_right() -> None:
    verdict = judge_steps(0, lambda case: predict(case, [change("one_update_buffer")]))
    assert "right for the large batches, where the peak lies in backward" in verdict.measured
    verdict = judge_steps(0, lambda case: predict(case, [change("loss_forgotten")]))
    assert "right for the small batches, where the peak lies in the update" in verdict.measured


def test_a_sum_without_bytes_is_told_its_unit_and_what_is_missing() -> None:
    verdict = judge_steps(0, lambda case: predict(case, [change("input_forgotten")]) / 4)
    assert verdict.code == "elements_for_bytes"
    assert "missing: the input" in verdict.measured


@pytest.mark.parametrize("seed", SEEDS)
def test_the_end_of_the_forward_alone_is_named_by_the_moment_that_is_missing(seed: int) -> None:
    forward = [change("backward_buffers_forgotten")]
    assert judge_steps(seed, lambda case: predict(case, forward, form_of("backward"))).code == "update_forgotten"


def test_peaks_of_the_visible_case_are_named_on_another() -> None:
    seen = dict(zip(step_cases(20011), step_cases(0), strict=True))
    assert judge_steps(20011, lambda case: predict(seen[case])).code == "visible_case_hard_coded"


def test_the_signatures_of_the_lessons_chain() -> None:
    """Figures in MiB for 16 blocks of 256 and 1,024 features, which learners arrive at with batches of 512 and 32."""
    large, small = ChainStep(16, 256, 1024, 512), ChainStep(16, 256, 1024, 32)
    mib = {
        "right": [predict(large), predict(small)],
        "gradients_held_in_backward": [predict(large, [change("gradients_held_in_backward")])],
        "end of the forward alone": [predict(small, [change("backward_buffers_forgotten")], form_of("backward"))],
        "first_iteration": [predict(large, [change("first_iteration")])],
    }
    assert {name: [round(value / 2**20, 1) for value in values] for name, values in mib.items()} == {
        "right": [171.7, 130.3],
        "gradients_held_in_backward": [203.8],
        "end of the forward alone": [100.8],
        "first_iteration": [130.8],
    }


# The extrapolated peak


def judge_lines(seed: int, yields: Callable[[ExtrapolationCase], float], *, is_asked: bool = True) -> Verdict:
    cases = extrapolation_cases(seed)
    asked_layers = [[case.few, case.more] if is_asked else [] for case in cases]
    facts = {"extrapolated_bytes": [yields(case) for case in cases], "asked_layers": asked_layers}
    return judge_extrapolated_peak(Observation(facts), seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", LINE_MISTAKES, ids=by_code)
def test_every_misconception_of_the_line_is_named(mistake, seed: int) -> None:
    assert judge_lines(seed, mistake.yields).code == mistake.code


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rule_of_three_is_told_the_layers_that_it_amounts_to(seed: int) -> None:
    verdict = judge_lines(seed, lambda case: case.few_bytes * case.layers / case.few)
    assert "16,850.2 MiB" in verdict.measured
    assert "as if the model had 34.17 layers" in verdict.measured


@pytest.mark.parametrize(
    "yields", [truth, lambda case: truth(case) / 3 * 3, lambda case: int(truth(case) * (1 - 1e-9))]
)
def test_the_rounding_of_a_float_passes(yields: Callable[[ExtrapolationCase], float]) -> None:
    assert judge_lines(0, yields).code == "passed"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("layers", [-2, -1, 1, 0.5])
def test_layers_too_many_or_too_few_are_counted(layers: float, seed: int) -> None:
    verdict = judge_lines(seed, lambda case: fixed_bytes(case) + (case.layers + layers) * layer_bytes(case))
    assert verdict.code == "layers_miscounted"
    assert f"{layers:+} layers" in verdict.look_at


@pytest.mark.parametrize("seed", SEEDS)
def test_a_line_through_rounded_figures_is_named(seed: int) -> None:
    def rounded(case: ExtrapolationCase) -> float:
        few, more = (round(peak_bytes(case, layers) / 2**20) for layers in (case.few, case.more))
        return 2**20 * (few + (case.layers - case.few) * (more - few) / (case.more - case.few))

    assert judge_lines(seed, rounded).code == "answer_rounded"


def test_figures_of_the_visible_models_are_named_on_others() -> None:
    seen = dict(zip(extrapolation_cases(20011), extrapolation_cases(0), strict=True))
    assert judge_lines(20011, lambda case: truth(seen[case])).code == "visible_case_hard_coded"


def test_right_figures_without_a_forecast_fail() -> None:
    assert judge_lines(0, truth, is_asked=False).code == "small_models_not_forecast"


def test_unexplained_figures_are_not_given_a_name() -> None:
    assert judge_lines(0, lambda case: 1e9).code == "unrecognised"
