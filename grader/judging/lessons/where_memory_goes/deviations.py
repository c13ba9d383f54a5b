"""Misconceptions as deviations from the right rules, so that an answer with two of them is recognised too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

Rules = dict[str, str]


@dataclass(frozen=True)
class Deviation:
    """A misconception: rules that differ from the right ones.

    Attributes:
        code: Its stable name.
        rules: The rules that differ, by the question that they answer.
        look_at: What the learner is told to look at.
    """

    code: str
    rules: Rules
    look_at: str

    def joined(self, other: Deviation) -> Deviation:
        """Return both misconceptions as one, under the name of this one."""
        return Deviation(self.code, self.rules | other.rules, f"{self.look_at} And {other.look_at}")


@dataclass(frozen=True)
class Recogniser:
    """Finds the deviations that explain a row of numbers.

    Attributes:
        deviations: The known ones, those that are told first in front.
        yields: What a program with deviating rules answers.
        slack: How far a number may be off, for answers that are rounded.
    """

    deviations: Sequence[Deviation]
    yields: Callable[[Rules], Sequence[float]]
    slack: float = 0

    def recognise(self, answers: Sequence[float]) -> Deviation | None:
        """Return the deviation, or the two of them, that yield the answers; None if there are none."""
        for deviation in self._candidates():
            pairs = zip(answers, self.yields(deviation.rules), strict=True)
            if all(abs(answer - value) <= self.slack for answer, value in pairs):
                return deviation
        return None

    def recognise_most(self, answers: Sequence[float], rights: Sequence[float]) -> Deviation | None:
        """Return the deviation that explains most of the answers that are not right, if it explains half of them."""
        misses = [index for index, (answer, right) in enumerate(zip(answers, rights, strict=True)) if answer != right]
        best, most = None, (len(misses) - 1) // 2
        for deviation in self.deviations:
            values = self.yields(deviation.rules)
            hits = sum(abs(answers[index] - values[index]) <= self.slack for index in misses)
            if hits > most:
                best, most = deviation, hits
        return best

    def _candidates(self) -> Iterator[Deviation]:
        yield from self.deviations
        for first, second in combinations(self.deviations, 2):
            if not first.rules.keys() & second.rules.keys():
                yield first.joined(second)
