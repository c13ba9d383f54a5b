"""Explains answers that are values: by a reference, and by what it yields when misconceptions edit its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any

from grader.judging.edited_source import Part, Source
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import IsNear, is_near

Cases = Callable[[int], Sequence[Any]]
Run = Callable[[Part, Any], Any]
VISIBLE_SEED = 0  # of the cases that a notebook shows
KEPT_VALUES = 2048  # a class has 16 seeds; the largest value, of 20 steps of 7 tensors, takes 50 KiB


def hard_coded(cases: Cases) -> Misconception[Answer]:
    """Return the misconception that returns the right values of the cases that a notebook shows."""
    return Misconception(
        "visible_case_hard_coded",
        "You return values that are right for the arguments in the notebook, whatever the arguments are. "
        "Compute each value from what your function receives.",
        on=lambda seed: cases(VISIBLE_SEED),
    )


@dataclass(frozen=True)
class Failed:
    """What an edited reference yields where it raises: it equals no answer.

    Attributes:
        error: What it raises.
    """

    error: str


@dataclass(frozen=True)
class Version:
    """One way to compute values: the reference or an edit of it, on the cases of a seed or on others.

    Attributes:
        part: Returns the function or class that is run; compiled once per process.
        cases: The cases of a seed.
    """

    part: Callable[[], Part]
    cases: Cases


class ReferenceTable(Table["Answer"]):
    """A reference, and the misconceptions that are edits of it.

    Attributes:
        reference: The reference as it is, on the cases that a check asks for.
        versions: Of each misconception, by its code, the ways in which it is reproduced.
    """

    def __init__(
        self,
        reference: Part | Sequence[Part],
        *misconceptions: Misconception[Answer],
        run: Run,
        cases: Cases,
        is_near: IsNear = is_near,
    ):
        """Read the reference's source and compile every edit.

        Args:
            reference: The right answer as a function or a class, or several that use each other, the one to be run
                first. An edit may change any of them.
            misconceptions: In the order of their priority.
            run: Runs the reference, or an edit of it, on one case and returns its value.
            cases: The cases of a seed.
            is_near: Whether an answer equals a value.

        Raises:
            TableError: if an edit does not apply exactly once or does not compile, or two misconceptions share a text.
        """
        super().__init__(*misconceptions)
        parts = (reference,) if callable(reference) else tuple(reference)
        source = Source(parts)
        self._run, self._is_near = run, is_near
        self.reference = Version(lambda: parts[0], lru_cache(maxsize=64)(cases))
        self.versions = {
            misconception.code: self._versions_of(misconception, source) for misconception in misconceptions
        }
        self.value = lru_cache(maxsize=KEPT_VALUES)(self._compute)

    def _versions_of(self, misconception: Misconception[Answer], source: Source) -> tuple[Version, ...]:
        if misconception.on:
            return (replace(self.reference, cases=lru_cache(maxsize=64)(misconception.on)),)
        compiled = [source.compile(misconception.code, edits) for edits in misconception.all_edits]
        return tuple(replace(self.reference, part=lru_cache(partial(source.load, code))) for code in compiled)

    def answer(self, seed: int, values: Sequence[Any]) -> Answer:
        """Return what was answered to the cases of a seed, as evidence.

        Raises:
            ValueError: if there is not one value for each case.
        """
        cases = self.reference.cases(seed)
        if len(values) != len(cases):
            raise ValueError(f"{len(values)} answers to {len(cases)} cases")
        return Answer(self, seed, values, range(len(cases)))

    def truths(self, seed: int) -> list[Any]:
        """Return the reference's value of each case of a seed."""
        return self.values(self.reference, seed)

    def values(self, version: Version, seed: int) -> list[Any]:
        """Return a version's value of each case of a seed, `Failed` where it raises."""
        return [self.value(version, seed, index) for index in range(len(self.reference.cases(seed)))]

    def find(self, answer: Answer) -> Misconception[Answer] | None:
        """Return the first misconception that the answer shows, or None.

        Of several that show in a part of the answer, the nearest is returned: it agrees with the most other parts.
        """
        if answer.key is None:
            return super().find(answer)
        shown = [misconception for misconception in self.misconceptions if self.shows(answer, misconception)]
        return max(shown, key=self._count_parts(answer), default=None)

    def _count_parts(self, answer: Answer) -> Callable[[Misconception[Answer]], int]:
        whole = replace(answer, key=None)
        truth = whole.table.truths(answer.seed)[0]
        parts = [whole.part(key) for key in (truth if isinstance(truth, Mapping) else range(len(truth)))]

        def count(misconception: Misconception[Answer]) -> int:
            versions = [version for version in self.versions[misconception.code] if answer.is_by(version)]
            return max((sum(part.agrees_with(version) for part in parts) for version in versions), default=0)

        return count

    def shows(self, answer: Answer, misconception: Misconception[Answer]) -> bool:
        """Return whether an answer has the values of a misconception in every case that is looked at."""
        if misconception.shown_by:
            return misconception.shown_by(answer)
        return any(answer.is_by(version) for version in self.versions[misconception.code])

    def is_near(self, answer: Any, value: Any) -> bool:
        """Return whether an answer equals a value."""
        return not isinstance(value, Failed) and (answer is value or self._is_near(answer, value))

    def _compute(self, version: Version, seed: int, index: int) -> Any:
        case = version.cases(seed)[index]
        if version is self.reference:
            return self._run(version.part(), case)
        try:
            return self._run(version.part(), case)
        except Exception as error:  # whatever an edit leads to, it is the value of no answer
            return Failed(f"{type(error).__name__}: {error}")


@dataclass(frozen=True, eq=False)
class Answer:
    """What was answered to the cases of a seed.

    Attributes:
        table: The table that explains it.
        seed: The seed of the cases.
        values: What was answered to each case.
        indices: The cases that are looked at.
        key: The key, or the position, of the part of each value that is looked at; None for the whole value.
    """

    table: ReferenceTable
    seed: int
    values: Sequence[Any]
    indices: Sequence[int]
    key: str | int | None = None

    def part(self, key: str | int) -> Answer:
        """Return the answer with one part of each value only."""
        return replace(self, key=key)

    def part_of(self, value: Any) -> Any:
        """Return the part of a value that is looked at."""
        return value if self.key is None else value[self.key]

    def only(self, index: int) -> Answer:
        """Return the answer to one case only."""
        return replace(self, indices=(index,))

    @cached_property
    def wrong(self) -> list[int]:
        """The cases whose value is not the reference's."""
        return [index for index in self.indices if not self._agrees(self.table.reference, index)]

    @property
    def is_right(self) -> bool:
        """Whether every value is the reference's."""
        return not self.wrong

    @property
    def case(self) -> Any:
        """The first case whose value is wrong."""
        return self.table.reference.cases(self.seed)[self.wrong[0]]

    @property
    def value(self) -> Any:
        """The first value that is wrong."""
        return self.part_of(self.values[self.wrong[0]])

    @property
    def truth(self) -> Any:
        """The reference's value in the place of the first wrong one."""
        return self.part_of(self.table.value(self.table.reference, self.seed, self.wrong[0]))

    def is_by(self, version: Version) -> bool:
        """Return whether the answer is wrong and a version yields all of it."""
        return bool(self.wrong) and self.agrees_with(version)

    def agrees_with(self, version: Version) -> bool:
        """Return whether a version yields all of the answer."""
        by_promise = sorted(
            self.indices, key=lambda index: index not in self.wrong
        )  # most versions fail on a wrong one
        return all(self._agrees(version, index) for index in by_promise)

    def _agrees(self, version: Version, index: int) -> bool:
        value = self.table.value(version, self.seed, index)
        if isinstance(value, Failed):
            return False
        return self.table.is_near(self.part_of(self.values[index]), self.part_of(value))
