"""Verdict on the predicted elements of Adafactor's state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from grader.judging.lessons.adafactor.counts import RIGHT, Count
from grader.judging.lessons.adafactor.miscounts import FURTHER, MISCOUNTS
from grader.lessons.adafactor.elements import ElementsCase, elements_cases
from grader.observation import Observation
from grader.testbed.optimizer_states import distilbert_tensors
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0


def judge_adafactor_elements(observation: Observation, seed: int) -> Verdict:
    """Compare every answer with what the library keeps, and name what explains a miss."""
    cases, answers = elements_cases(seed), observation.facts["predicted_elements"]
    for case, answer in zip(cases, answers, strict=True):
        truth = RIGHT.of(case)
        if answer != truth:
            expected = f"{truth:,} elements for {case.optimizer} on {describe(case)}"
            code, look_at = _recognise(cases, answers)
            measured = f"{answer:,.12g} elements, {answer - truth:+,.12g}"
            return Verdict(code, expected, measured, look_at)
    measured = f"{len(cases)} states to the number; DistilBERT {RIGHT.of(cases[0]):,} in transformers"
    return Verdict(PASSED, f"{len(cases)} states to the number", f"{measured}, {RIGHT.of(cases[1]):,} in torch")


def describe(case: ElementsCase) -> str:
    """Say what tensors a case has."""
    trained = [kind for kind in case.tensors if kind.is_trained]
    shapes = list(dict.fromkeys(kind.shape for kind in trained))
    if len(shapes) > 5:
        return f"{len(trained)} tensors of DistilBERT"
    frozen = len(case.tensors) - len(trained)
    named = ", ".join(f"{sum(kind.shape == shape for kind in trained)} of {tuple(shape)}" for shape in shapes)
    return named + (f", and {frozen} frozen" if frozen else "")


def _recognise(cases: Sequence[ElementsCase], answers: Sequence[float]) -> tuple[str, str]:
    for code, look_at, count in _counts():
        if all(answer == count.of(case) for case, answer in zip(cases, answers, strict=True)):
            return code, look_at
    if list(answers) == [RIGHT.of(case) for case in elements_cases(VISIBLE_SEED)]:
        return "visible_case_hard_coded", "numbers that are right for other tensors: what does your answer depend on?"
    distilbert = [RIGHT.of(ElementsCase(case.optimizer, distilbert_tensors())) for case in cases]
    if list(answers) == distilbert:
        return "numbers_of_distilbert", "the numbers of DistilBERT, whatever the parameters are: what is handed over?"
    ratios = [answer / RIGHT.of(case) for case, answer in zip(cases, answers, strict=True)]
    if len(set(answers)) > 1 and max(ratios) - min(ratios) < 1e-9:
        return "elements_scaled", f"a factor of {ratios[0]:.4g} on every answer"
    if not any(answers):
        return "nothing_counted", "which tensors you skip: no .grad is there yet, requires_grad tells what is trained"
    if len(set(answers)) == 1:
        return "same_for_all", "your answer is the same for all tensors and libraries: what does it read?"
    return UNRECOGNISED, "one tensor of one library: write its state down as a list of shapes, and count their numbers"


def _counts() -> Iterator[tuple[str, str, Count]]:
    for miscount in MISCOUNTS:
        yield miscount.code, miscount.look_at, replace(RIGHT, **miscount.changes)
    for code, look_at, changes in FURTHER:
        yield code, look_at, replace(RIGHT, **changes)
    for index, one in enumerate(MISCOUNTS):
        for other in MISCOUNTS[index + 1 :]:
            if not set(one.changes) & set(other.changes):
                yield one.code, one.look_at, replace(RIGHT, **one.changes, **other.changes)
