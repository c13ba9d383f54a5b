"""Misconceptions, and the one loop that names the misconception behind an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from grader.verdict import UNRECOGNISED, Verdict

EvidenceT = TypeVar("EvidenceT")
Edits = Mapping[str, str]


class TableError(ValueError):
    """A table of misconceptions that cannot be right."""


@dataclass(frozen=True, eq=False)
class Misconception(Generic[EvidenceT]):
    """Something that a student may believe, and how it shows in an answer.

    It shows in exactly one of three ways: as an edit of the reference (`edits`, `variants`), as the reference's values
    on other cases (`on`), or by what was recorded (`shown_by`).

    The texts may name attributes of the evidence in braces, as in "{k} micro-batches" or "{case.k}".

    Attributes:
        code: Its stable name.
        diagnosis: What the learner does, in the second person, and then where to look.
        edits: Texts of the reference's source, each with the text that replaces it; each occurs exactly once.
        variants: Edits that write the same misconception in other ways.
        on: The cases, of a seed, whose right values the learner returns: those that a notebook shows, for instance.
        shown_by: Whether the evidence shows it.
        expected: Replaces the judge's text of what was expected, where it is not empty.
        measured: Replaces the judge's text of what was measured, where it is not empty.
        same_as: Codes of misconceptions above it in its table that give the same values at some seeds.
    """

    code: str
    diagnosis: str
    edits: Edits = field(default_factory=dict)
    variants: Sequence[Edits] = ()
    on: Callable[[int], Sequence[Any]] | None = None
    shown_by: Callable[[EvidenceT], bool] | None = None
    expected: str = ""
    measured: str = ""
    same_as: tuple[str, ...] = ()

    @property
    def all_edits(self) -> tuple[Edits, ...]:
        """The edits, and then the variants."""
        return (self.edits, *self.variants) if self.edits else tuple(self.variants)

    def verdict(self, evidence: EvidenceT, expected: str, measured: str) -> Verdict:
        """Return the verdict on evidence that shows it; the judge's texts are used where it has none of its own."""
        return Verdict(
            self.code,
            _fill(self.expected, evidence) or expected,
            _fill(self.measured, evidence) or measured,
            _fill(self.diagnosis, evidence),
        )


class Table(Generic[EvidenceT]):
    """Misconceptions in the order of their priority: the first one that the evidence shows is named.

    Attributes:
        misconceptions: The misconceptions.
    """

    def __init__(self, *misconceptions: Misconception[EvidenceT]):
        self.misconceptions = misconceptions
        for name in ("code", "diagnosis"):
            texts = Counter(getattr(misconception, name) for misconception in misconceptions)
            twice = [text for text, count in texts.items() if count > 1]
            if twice:
                raise TableError(f"two misconceptions share the {name} {twice[0]!r}: merge them, with `variants`")
        for misconception in misconceptions:
            ways = (bool(misconception.all_edits), misconception.on is not None, misconception.shown_by is not None)
            if sum(ways) != 1:
                raise TableError(
                    f"{misconception.code!r} needs one of `edits`, `on` and `shown_by`, and has {sum(ways)}"
                )

    def find(self, evidence: EvidenceT) -> Misconception[EvidenceT] | None:
        """Return the first misconception that the evidence shows, or None."""
        return next(
            (misconception for misconception in self.misconceptions if self.shows(evidence, misconception)), None
        )

    def shows(self, evidence: EvidenceT, misconception: Misconception[EvidenceT]) -> bool:
        """Return whether the evidence shows a misconception."""
        if misconception.shown_by is None:
            raise TableError(f"{misconception.code!r} has edits or cases, which only a ReferenceTable can run")
        return misconception.shown_by(evidence)

    def judge(self, evidence: EvidenceT, expected: str = "", measured: str = "") -> Verdict | None:
        """Return the verdict on the first misconception that the evidence shows, or None."""
        found = self.find(evidence)
        return found.verdict(evidence, expected, measured) if found else None

    def explain(self, *evidence: EvidenceT, expected: str, measured: str, otherwise: str) -> Verdict:
        """Return the verdict on an answer that is wrong.

        Args:
            evidence: The whole answer, and then parts of it; a part is looked at where the whole shows nothing.
            expected: What was expected, with its unit.
            measured: What was measured, with its unit, and how far it is from what was expected.
            otherwise: Where to look if the answer shows no misconception.
        """
        verdicts = (self.judge(part, expected, measured) for part in evidence)
        return next((verdict for verdict in verdicts if verdict), Verdict(UNRECOGNISED, expected, measured, otherwise))


def _fill(text: str, evidence: object) -> str:
    return text.format_map(_Attributes(evidence))


class _Attributes(dict[str, Any]):
    """The attributes of an object, by name."""

    def __init__(self, owner: object):
        super().__init__()
        self.owner = owner

    def __missing__(self, name: str) -> Any:
        return getattr(self.owner, name)
