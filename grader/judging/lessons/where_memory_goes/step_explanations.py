"""Finds which changes of the two moments' sums explain a learner's answers, to the byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import torch
from torch import Tensor

from grader.judging.lessons.where_memory_goes.step_pieces import CHANGES, Change
from grader.judging.lessons.where_memory_goes.step_sizes import (
    BACKWARD,
    FLOAT32_BYTES,
    RIGHT,
    UPDATE,
    WRONG_SIZES,
    Counts,
    OtherSizes,
)
from grader.lessons.where_memory_goes.step_peak import ChainStep

_SIZES = ("model", "counters", "blocks", "input", "activations", "hidden_rows", "weight", "width", "hidden", "number")
_MOST_CHANGES, _MOST_CHANGES_WITH_WRONG_SIZES = 3, 1


@dataclass(frozen=True)
class Form:
    """How an answer is made of the two moments.

    Attributes:
        code: The misconception; empty for the right form, the larger of the two.
        says: What is returned, in words.
        look_at: The diagnosis, and where to look.
        kind: "larger", "smaller", "sum", "mean", "backward" or "update".
        added: What else is in the sum.
    """

    code: str
    says: str
    look_at: str
    kind: str
    added: Counts


@dataclass(frozen=True)
class Explanation:
    """What explains all answers to the byte: all of these together.

    Attributes:
        form: How the answer is made of the two moments.
        other_sizes: How the sizes are computed.
        changes: What is missing or too much in a moment.
    """

    form: Form
    other_sizes: OtherSizes
    changes: tuple[Change, ...]

    @property
    def mistakes(self) -> list[Form | OtherSizes | Change]:
        """The parts that are wrong, the form first."""
        parts: tuple[Form | OtherSizes | Change, ...] = (self.form, self.other_sizes, *self.changes)
        return [part for part in parts if part.code]

    @property
    def simplicity(self) -> tuple[int, int, int]:
        """How many mistakes are needed, how rare the form is, how many counts change: the smaller, the likelier."""
        counts = [count for change in self.changes for count in (*change.backward.values(), *change.update.values())]
        return len(self.mistakes), FORMS.index(self.form), sum(map(abs, counts))


RIGHT_FORM = Form("", "", "", "larger", {})
_ALL_ADDED = (
    "all_kinds_added",
    "all kinds of memory in one sum",
    "You add up all kinds of memory, but all gradients and all activations are never held at the same moment. "
    "Compute both moments and take the larger.",
)
_NO_BUFFERS = {"hidden_rows": -1, "weight": -1, "width": -1, "number": -2}
_UPDATE_BUFFERS = {"weight": 2, "hidden": 1}
FORMS: tuple[Form, ...] = (  # the likelier first
    Form(
        "update_forgotten",
        "the moment when backward begins, alone",
        "You compute only the moment when backward begins. With a small batch, the update holds more.",
        "backward",
        {},
    ),
    Form(
        "backward_forgotten",
        "the update alone",
        "You compute only the update. With a large batch, more is held when backward begins.",
        "update",
        {},
    ),
    RIGHT_FORM,
    Form(*_ALL_ADDED, "backward", {"model": 1}),
    Form(*_ALL_ADDED, "backward", {"model": 1, **_UPDATE_BUFFERS}),
    Form(*_ALL_ADDED, "update", {"activations": 1}),
    Form(*_ALL_ADDED, "backward", {"model": 1, **_NO_BUFFERS}),
    Form(
        "smaller_moment",
        "the smaller of the two moments",
        "You return the smaller of the two moments. The peak is the larger one.",
        "smaller",
        {},
    ),
    Form(
        "moments_added",
        "the two moments added",
        "You add the two moments, but they follow each other. Take the larger one.",
        "sum",
        {},
    ),
    Form(
        "mean_of_moments",
        "the mean of the two moments",
        "You return the mean of the two moments. The peak is the larger one of them.",
        "mean",
        {},
    ),
)


def explain(cases: Sequence[ChainStep], answers: Sequence[float]) -> Explanation | None:
    """Return the simplest explanation that yields every answer to the byte; None if there is none."""
    found = list(_explanations(cases, _exact(answers)))
    return min(found, key=lambda explanation: explanation.simplicity, default=None)


def _explanations(cases: Sequence[ChainStep], answers: Tensor) -> Iterator[Explanation]:
    for other_sizes in (RIGHT, *WRONG_SIZES):
        combined = _combined_changes(_MOST_CHANGES_WITH_WRONG_SIZES if other_sizes.code else _MOST_CHANGES)
        sizes = _exact([[other_sizes.sizes(case)[name] for case in cases] for name in _SIZES])
        backward = (_counts(BACKWARD) + combined.backward) @ sizes  # [combinations, cases]
        update = (_counts(UPDATE) + combined.update) @ sizes
        for form in FORMS:
            yields = FLOAT32_BYTES * (_combine(form.kind, backward, update) + _counts(form.added) @ sizes)
            is_explained = (yields == answers).all(dim=1) & ~_takes_away(combined, form.added)
            for index in is_explained.nonzero()[:, 0].tolist():
                yield Explanation(form, other_sizes, combined.changes[index])


def _combine(kind: str, backward: Tensor, update: Tensor) -> Tensor:
    if kind == "backward":
        return backward
    if kind == "update":
        return update
    if kind == "larger":
        return torch.maximum(backward, update)
    if kind == "smaller":
        return torch.minimum(backward, update)
    return (backward + update) / (2 if kind == "mean" else 1)


@dataclass(frozen=True)
class _Combined:
    """Every combination of changes, and how it changes the counts of the two moments: [combinations, sizes]."""

    changes: list[tuple[Change, ...]]
    backward: Tensor
    update: Tensor


def _takes_away(combined: _Combined, added: Counts) -> Tensor:
    """Whether a combination takes away what a form adds: that is no likely way to think."""
    is_added = _counts(added) > 0
    return ((combined.backward + combined.update) < 0)[:, is_added].any(dim=1)


@cache
def _combined_changes(most: int) -> _Combined:
    changes = [chosen for count in range(most + 1) for chosen in combinations(range(len(CHANGES)), count)]
    is_chosen = torch.zeros(len(changes), len(CHANGES), dtype=torch.float64)
    for index, chosen in enumerate(changes):
        is_chosen[index, list(chosen)] = 1
    backward = is_chosen @ torch.stack([_counts(change.backward) for change in CHANGES])
    update = is_chosen @ torch.stack([_counts(change.update) for change in CHANGES])
    return _Combined([tuple(CHANGES[i] for i in chosen) for chosen in changes], backward, update)


def _counts(counts: Counts) -> Tensor:
    return _exact([counts.get(name, 0) for name in _SIZES])


def _exact(numbers: Sequence[float] | Sequence[Sequence[float]]) -> Tensor:
    """Return numbers in a format that is exact for every number of bytes that a case has."""
    return torch.tensor(numbers, dtype=torch.float64)
