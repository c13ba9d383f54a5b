"""Judges the checks of an exam: a reference that obeys the options of a variant, and misconceptions for each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.command_line import count
from grader.judging.edited_source import Part
from grader.judging.misconceptions import Misconception
from grader.judging.nearness import is_near, within
from grader.judging.references import Answer, ReferenceTable, hard_coded
from grader.observation import Observation
from grader.variants import Options, family_of, number_of, options_of
from grader.verdict import PASSED, Verdict

Judge = Callable[[Observation, int], Verdict]


@dataclass(frozen=True)
class When:
    """A misconception that shows under some options only.

    Attributes:
        misconception: The misconception.
        options: What each option that it depends on must be: a value, or a tuple of values.
    """

    misconception: Misconception[Answer]
    options: Options


def when(misconception: Misconception[Answer], **options: Any) -> When:
    """Return a misconception that shows only where the options have these values, or one of a tuple of values."""
    return When(misconception, options)


@dataclass(frozen=True)
class FamilyJudge:
    """Judges one exercise of an exam in all its variants.

    Attributes:
        reference: The right answer as a function of what the learner's takes, and then of the options.
        misconceptions: Its misconceptions, in the order of their priority.
        run: Runs the reference on one case under the options.
        cases: The cases of a seed under the options.
        described: Says what a case is, in a few words.
        relative: Largest difference of a number, as a share of the right one.
        absolute: Largest difference of a number.
        noun: What each number of a list is, in the singular.
    """

    reference: Part
    misconceptions: Sequence[Misconception[Answer] | When]
    run: Callable[[Part, Any, Options], Any]
    cases: Callable[[int, Options], Sequence[Any]]
    described: Callable[[Any], str]
    relative: float = 0.0
    absolute: float = 0.0
    noun: str = "number"

    def table(self, options: Options) -> ReferenceTable:
        """Return the table of one variant."""
        shown = [found for found in map(functools.partial(_shown, options), self.misconceptions) if found]

        def cases(seed: int) -> Sequence[Any]:
            return self.cases(seed, options)

        def run(part: Part, case: Any) -> Any:
            return self.run(part, case, options)

        near = within(relative=self.relative, absolute=self.absolute)
        return ReferenceTable(self.reference, *shown, hard_coded(cases), run=run, cases=cases, is_near=near)

    def judge(self, table: ReferenceTable, observation: Observation, seed: int) -> Verdict:
        """Compare the answers to the cases of a seed, and name the misconception behind them."""
        answer = table.answer(seed, observation.facts["answers"])
        if answer.is_right:
            return Verdict(PASSED, "", f"right in {len(answer.values)} cases")
        right, given = self._texts(answer.truth, answer.value)
        return table.explain(
            answer,
            expected=f"{right} ({self.described(answer.case)})",
            measured=given,
            otherwise="Work the smallest case through by hand, and compare it with the contract line by line.",
        )

    def _texts(self, truth: Any, value: Any) -> tuple[str, str]:
        """Write what was expected and what was measured, of lists the first number that differs."""
        if not isinstance(truth, Sequence) or isinstance(truth, str):
            return f"{truth:,}" if isinstance(truth, int) else f"{truth:.6g}", _short(value)
        if not isinstance(value, Sequence) or len(value) != len(truth):
            counted = count(len(value), self.noun) if isinstance(value, Sequence) else _short(value)
            return count(len(truth), self.noun), counted
        for place, (right, given) in enumerate(zip(truth, value, strict=True)):
            if not is_near(given, right, relative=self.relative, absolute=self.absolute):
                return f"{self.noun} {place} (counted from 0): {right:.6g}", _short(given)
        return count(len(truth), self.noun), "others"


def variant_judges(topic: str, **families: FamilyJudge) -> Callable[[str], Judge]:
    """Return the `__getattr__` of a module that judges the checks of an exam.

    Args:
        topic: A lesson's name without its number.
        families: The judges, by their names without a number.
    """

    @functools.cache
    def judge_named(name: str) -> Judge:
        if family_of(name) not in families:
            raise AttributeError(f"the exam of {topic} has no judge {name!r}")
        family = families[family_of(name)]
        return functools.partial(family.judge, family.table(options_of(topic, number_of(name))))

    return judge_named


def _shown(options: Options, entry: Misconception[Answer] | When) -> Misconception[Answer] | None:
    if isinstance(entry, Misconception):
        return entry
    return entry.misconception if _holds(entry.options, options) else None


def _holds(wanted: Mapping[str, Any], options: Options) -> bool:
    return all(options[name] in (values if isinstance(values, tuple) else (values,)) for name, values in wanted.items())


def _short(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)[:60]
