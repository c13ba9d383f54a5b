"""Verdict on the format that is chosen for a tensor."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judging.lessons.number_formats.choice_mistakes import MISTAKES
from grader.judging.lessons.number_formats.choice_truth import DTYPES, MEASURED, choose, errors_of
from grader.lessons.number_formats.choice import ChoiceCase, choice_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen


def judge_chosen_format(observation: Observation, seed: int) -> Verdict:
    """Compare every choice; the first miss is told, with what explains all of them."""
    cases, chosen = choice_cases(seed), observation.facts["chosen"]
    if not all(name is None or name in DTYPES for name in chosen):
        raise ValueError(f"a name that is none of {', '.join(DTYPES)}")
    for case, name in zip(cases, chosen, strict=True):
        right = choose(case.make_values(), case.tolerance)
        if name != right:
            expected = f"{right} for {case.what}, tolerance {case.tolerance:.3g}"
            code, look_at = _explain(cases, chosen)
            return Verdict(code, expected, _say_choice(case, name), look_at)
    measured = ", ".join(f"{case.what}: {name}" for case, name in zip(cases[:4], chosen, strict=False))
    return Verdict(PASSED, "", f"{len(cases)} tensors; {measured}")


def _explain(cases: Sequence[ChoiceCase], chosen: Sequence[str | None]) -> tuple[str, str]:
    asked = [(case.make_values(), case.tolerance) for case in cases]
    for code, look_at, way in MISTAKES:
        if all(_agrees(name, way(values, tolerance)) for (values, tolerance), name in zip(asked, chosen, strict=True)):
            return code, look_at
    visible = [choose(case.make_values(), case.tolerance) for case in choice_cases(VISIBLE_SEED)]
    if list(chosen) == visible:
        return "visible_case_hard_coded", "choices that are right for other tensors: what do they depend on?"
    return UNRECOGNISED, f"this tensor by hand, format by format: {MEASURED}"


def _agrees(name: str | None, by_way: str | None) -> bool:
    """Whether a choice is that of a way; where no format fits, a loop may be followed by fp32."""
    return name == by_way or (by_way is None and name == "fp32")


def _say_choice(case: ChoiceCase, name: str | None) -> str:
    if name is None:
        return "no name"
    error = float(errors_of(case.make_values(), name).max())
    return f"{name}, whose largest relative error is {error:.3g} here"
