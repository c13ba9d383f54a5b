"""The judge of the predicted peak names what explains an answer, to the byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from grader.judging.lessons.where_memory_goes import step_truth
from grader.judging.lessons.where_memory_goes.step_explanations import FORMS, RIGHT_FORM, Form
from grader.judging.lessons.where_memory_goes.step_patterns import UNITS
from grader.judging.lessons.where_memory_goes.step_peak import judge_step_peak
from grader.judging.lessons.where_memory_goes.step_pieces import CHANGES, Change
from grader.judging.lessons.where_memory_goes.step_sizes import BACKWARD, RIGHT, UPDATE, WRONG_SIZES, Counts, OtherSizes
from grader.lessons.where_memory_goes.step_peak import ChainStep, step_cases
from grader.observation import Observation
from grader.verdict import Verdict

SEED = 20_011
COMBINE: dict[str, Callable[[int, int], float]] = {
    "larger": max,
    "smaller": min,
    "sum": lambda backward, update: backward + update,
    "mean": lambda backward, update: (backward + update) / 2,
    "backward": lambda backward, update: backward,
    "update": lambda backward, update: update,
}


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
    """Replace forecasts by the formula; the tests of the cases show that they are equal."""

    def forecast(case: ChainStep) -> SimpleNamespace:
        is_in_update = predict(case, form=form_of("update")) > predict(case, form=form_of("backward"))
        sample = SimpleNamespace(phase="optimizer" if is_in_update else "backward")
        return SimpleNamespace(peak_bytes=predict(case), peak_sample=sample)

    monkeypatch.setattr(step_truth, "_forecast", forecast)


def judge_steps(seed: int, yields: Callable[[ChainStep], float]) -> Verdict:
    return judge_step_peak(Observation({"predicted_bytes": [yields(case) for case in step_cases(seed)]}), seed)


def change(code: str) -> Change:
    return next(known for known in CHANGES if known.code == code)


@pytest.mark.parametrize(
    "known", [*CHANGES[::6], *WRONG_SIZES[::6], *FORMS[::4], *UNITS[::3]], ids=lambda known: known.code
)
def test_every_kind_of_misconception_is_named(known) -> None:
    if isinstance(known, Change):
        code = judge_steps(SEED, lambda case: predict(case, [known])).code
    elif isinstance(known, OtherSizes):
        code = judge_steps(SEED, lambda case: predict(case, other_sizes=known)).code
    elif isinstance(known, Form):
        code = judge_steps(SEED, lambda case: predict(case, form=known)).code
    else:
        code = judge_steps(SEED, known.yields).code
    assert code == known.code


def test_no_two_codes_share_a_diagnosis() -> None:
    pairs = {(known.look_at, known.code) for known in (*CHANGES, *WRONG_SIZES, *FORMS, *UNITS) if known.code}
    assert len(pairs) == len({look_at for look_at, _ in pairs})


@pytest.mark.parametrize(("divisor", "code"), [(2**20, "mebibytes_for_bytes"), (10**6, "megabytes_for_bytes")])
def test_a_rounded_figure_is_named_as_a_unit(divisor: int, code: str) -> None:
    assert judge_steps(0, lambda case: round(predict(case) / divisor)).code == code


def test_the_right_bytes_pass_as_any_number_and_a_byte_too_many_fails() -> None:
    assert judge_steps(0, predict).code == judge_steps(0, lambda case: float(predict(case))).code == "passed"
    assert judge_steps(0, lambda case: predict(case) + 1).code == "nearly_right"


PATTERNS: dict[str, Callable[[ChainStep], float]] = {
    "one_number_for_all": lambda case: 180_077_832,
    "another_unit": lambda case: predict(case) / 2**30,
    "other_moment_chosen": lambda case: predict(case, form=form_of("backward" if case.batch > 512 else "update")),
    "blocks_misapplied": lambda case: predict(case) + (case.blocks - 1) * 10**6,
    "shape_of_the_lesson": lambda case: predict(case) + (case.hidden - 4 * case.width) * 10**6,
    "unrecognised": lambda case: 10**6 * case.batch,
}


@pytest.mark.parametrize("code", PATTERNS)
def test_every_pattern_of_unexplained_answers_is_named(code: str) -> None:
    assert judge_steps(SEED, PATTERNS[code]).code == code


def test_three_missing_pieces_are_named_each_with_its_bytes() -> None:
    pieces = [change("input_forgotten"), change("step_counters_forgotten"), change("loss_forgotten")]
    verdict = judge_steps(SEED, lambda case: predict(case, pieces))
    case = step_cases(SEED)[0]
    assert verdict.code == "several_pieces"
    assert f"missing: the input, {4 * case.batch * case.width:,} bytes" in verdict.measured
    assert f"missing: the step counters, {16 * case.blocks:,} bytes" in verdict.measured
    assert "missing: the loss and its gradient, 8 bytes" in verdict.measured


def test_a_missing_piece_of_one_moment_is_shown_with_the_batches_that_are_right() -> None:
    verdict = judge_steps(0, lambda case: predict(case, [change("one_update_buffer")]))
    assert "right for the large batches, where the peak is in backward" in verdict.measured
    verdict = judge_steps(0, lambda case: predict(case, [change("loss_forgotten")]))
    assert "right for the small batches, where the peak is in the update" in verdict.measured


def test_the_figures_of_the_lessons_chain() -> None:
    """Figures in MiB for 16 blocks of 256 and 1,024 features, which learners arrive at with batches of 512 and 32."""
    large, small = ChainStep(16, 256, 1024, 512), ChainStep(16, 256, 1024, 32)
    figures = {
        "right": [predict(large), predict(small)],
        "gradients_held_in_backward": [predict(large, [change("gradients_held_in_backward")])],
        "end of the forward alone": [predict(small, [change("backward_buffers_forgotten")], form_of("backward"))],
        "first_iteration": [predict(large, [change("first_iteration")])],
    }
    assert {name: [round(value / 2**20, 1) for value in values] for name, values in figures.items()} == {
        "right": [171.7, 130.3],
        "gradients_held_in_backward": [203.8],
        "end of the forward alone": [100.8],
        "first_iteration": [130.8],
    }
