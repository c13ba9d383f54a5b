"""Verdict on the predicted elements of Adafactor's state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.cases.adafactor import ElementsCase, elements_cases
from grader.cases.adamw import TensorKind, distilbert_tensors
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0
MOMENTUM = "transformers with momentum"


@dataclass(frozen=True)
class Count:
    """A way to count the state; as it stands, the right one.

    Attributes:
        factors: What is kept of a matrix: "rows_and_columns", "rows", "columns", "rows_plus_product" of both, its
            "shortest" or "longest" side, "rows_twice", "one_less" than rows and columns, or "whole".
        stacks: More than two dimensions: the last two are the matrix, "each"; one matrix of the first dimension and
            the rest, "flat"; one matrix of the first two, "first"; only the last two are counted, "one"; one vector
            for each dimension, "sides"; the first two sides alone, "two"; or "whole".
        vectors: One dimension: "whole", "number" for a single one, "matrix" with one row, or "no_single" number.
        steps: Step counts of one tensor.
        step_of: Which libraries count steps: "both", "torch" or "transformers".
        sizes: Which libraries keep the RMS: "transformers", "both", "none", or transformers with "momentum" alone.
        momentum: Numbers of momentum for each number.
        momentum_of: "case", or for "all", for "matrices" alone, or for "transformers" in both its forms.
        is_factored_with_momentum: Whether momentum leaves the second moment factored.
        has_frozen: Whether frozen tensors count too.
        has_frozen_scalars: Whether frozen tensors have a step count.
        is_first_only: Whether the first trained tensor alone is counted.
        extra: Numbers for each number of a parameter that are no state.
        extra_scalars: Further single numbers of each tensor.
        bytes_of: Bytes of each counted number: 1 counts elements.
    """

    factors: str = "rows_and_columns"
    stacks: str = "each"
    vectors: str = "whole"
    step_of: str = "both"
    sizes: str = "transformers"
    momentum: int = 1
    momentum_of: str = "case"
    is_factored_with_momentum: bool = True
    has_frozen: bool = False
    extra: int = 0
    extra_scalars: int = 0
    is_once: bool = False
    bytes_of: float = 1
    has_frozen_scalars: bool = False
    is_first_only: bool = False

    def of(self, case: ElementsCase) -> float:
        """Return the answer that this way gives."""
        tensors = [kind for kind in case.tensors if kind.is_trained or self.has_frozen]
        tensors = tensors[:1] if self.is_first_only else tensors
        scalars = self._scalars(case) * (1 if self.is_once else len(tensors))
        scalars += self.has_frozen_scalars * sum(not kind.is_trained for kind in case.tensors)
        return self.bytes_of * (scalars + sum(self._of_tensor(kind, case) for kind in tensors))

    def _scalars(self, case: ElementsCase) -> int:
        is_torch = case.optimizer == "torch"
        steps = self.step_of in ("both", "torch" if is_torch else "transformers")
        keepers = {"transformers": not is_torch, "both": True, "momentum": case.optimizer == MOMENTUM}
        sizes = keepers.get(self.sizes, False)
        return steps + sizes + self.extra_scalars

    def _of_tensor(self, kind: TensorKind, case: ElementsCase) -> int:
        has_momentum = case.optimizer == MOMENTUM or self.momentum_of == "all"
        has_momentum |= self.momentum_of == "transformers" and case.optimizer == "transformers"
        has_momentum &= self.momentum_of != "matrices" or len(kind.shape) > 1
        beside = (self.extra + (self.momentum if has_momentum else 0)) * kind.elements
        if has_momentum and not self.is_factored_with_momentum:
            return beside + kind.elements
        return beside + self._second_moment(kind.shape, kind.elements)

    def _second_moment(self, shape: tuple[int, ...], elements: int) -> int:
        if len(shape) < 2:
            kept = {"number": 1, "matrix": 1 + elements, "no_single": elements if shape else 0}
            return kept.get(self.vectors, elements)
        stacks = elements // max(shape[-1] * shape[-2], 1)
        if len(shape) > 2 and self.stacks != "each":
            flat = shape[0] + elements // shape[0], shape[0] * shape[1] + elements // (shape[0] * shape[1])
            sides = {
                "shortest": min(shape),
                "longest": max(shape),
                "flat": flat[0],
                "first": flat[1],
                "one": shape[-1] + shape[-2],
                "sides": sum(shape),
            }
            sides["two"] = shape[0] + shape[1]
            return sides.get(self.stacks, elements)
        rows, columns = stacks * shape[-2], stacks * shape[-1]
        kept = {"rows": rows, "columns": columns, "rows_plus_product": rows + columns + elements, "whole": elements}
        kept |= {"shortest": min(shape), "longest": max(shape), "rows_twice": 2 * rows, "one_less": rows + columns - 1}
        return kept.get(self.factors, rows + columns)


RIGHT = Count()


@dataclass(frozen=True)
class Miscount:
    """A misconception about the state, as what it counts otherwise."""

    code: str
    look_at: str
    changes: Mapping[str, Any]


def _miscount(code: str, look_at: str, **changes: Any) -> Miscount:
    return Miscount(code, look_at, changes)


_STACKS = "more than two dimensions: the last two are a matrix, and there is one for each index before them"
MISCOUNTS = (
    _miscount("not_factored", "a matrix: which means stand for its second moment?", factors="whole"),
    _miscount("rows_only", "a matrix has row means and column means", factors="rows"),
    _miscount("columns_only", "a matrix has row means and column means", factors="columns"),
    _miscount(
        "product_kept", "row times column is computed anew at each step, and not kept", factors="rows_plus_product"
    ),
    _miscount("stack_flattened", _STACKS, stacks="flat"),
    _miscount("first_two_dimensions", _STACKS, stacks="first"),
    _miscount("one_matrix_of_the_stack", _STACKS, stacks="one"),
    _miscount("first_two_sides", _STACKS + ": shape[0] and shape[1] are not the last two", stacks="two"),
    _miscount("sides_added", _STACKS, stacks="sides"),
    _miscount("stack_not_factored", _STACKS, stacks="whole"),
    _miscount("vector_as_one_number", "a tensor of one dimension is kept whole", vectors="number"),
    _miscount(
        "vector_as_matrix", "a tensor of one dimension has no rows and columns: it is kept whole", vectors="matrix"
    ),
    _miscount(
        "one_number_of_transformers",
        "transformers keeps two numbers beside the means: the RMS, and a step count, one element also as a Python int",
        sizes="none",
    ),
    _miscount("rms_in_torch", "the RMS of the weight is kept by transformers, and not by torch", sizes="both"),
    _miscount(
        "no_single_numbers", "the single numbers of a tensor: which does the text name?", step_of="none", sizes="none"
    ),
    _miscount("rms_with_momentum_only", "transformers keeps the RMS with and without momentum", sizes="momentum"),
    _miscount("shortest_side", "a matrix has row means and column means", factors="shortest", stacks="shortest"),
    _miscount("longest_side", "a matrix has row means and column means", factors="longest", stacks="longest"),
    _miscount("rows_twice", "a matrix has as many column means as columns", factors="rows_twice"),
    _miscount("one_less", "rows plus columns: none of the means is left out", factors="one_less"),
    _miscount(
        "single_number_left_out", "a tensor without dimensions is one number, and kept whole", vectors="no_single"
    ),
    _miscount("momentum_of_matrices", "momentum is kept of tensors of one dimension too", momentum_of="matrices"),
    _miscount("momentum_of_transformers", "momentum is kept only where the name says so", momentum_of="transformers"),
    _miscount("frozen_steps", "a frozen tensor is never updated: it has no step count", has_frozen_scalars=True),
    _miscount("first_tensor_only", "where `return` stands: inside the loop?", is_first_only=True),
    _miscount("mebibytes_for_elements", "the unit: elements are asked for, not MiB", bytes_of=4 / 2**20),
    _miscount("steps_left_out", "the step counts: one number for each tensor", step_of="none"),
    _miscount("steps_of_torch_left_out", "torch counts steps too", step_of="transformers"),
    _miscount("scalars_once", "the step count and the RMS: one for the model, or for each tensor?", is_once=True),
    _miscount("momentum_left_out", "beta1: a mean of updates has the shape of its parameter", momentum=0),
    _miscount("momentum_twice", "beta1 adds one mean of updates, and no second one", momentum=2),
    _miscount("momentum_for_all", "momentum is kept where beta1 is set, and nowhere else", momentum_of="all"),
    _miscount(
        "momentum_for_factors",
        "with momentum, the second moment is still kept in rows and columns",
        is_factored_with_momentum=False,
    ),
    _miscount("frozen_counted", "tensors without a gradient: requires_grad tells them", has_frozen=True),
    _miscount("parameters_added", "the parameters themselves are no state", extra=1),
    _miscount(
        "one_number_too_many", "the single numbers of a tensor: which of them does the text name?", extra_scalars=1
    ),
    _miscount("bytes_for_elements", "the unit: elements are asked for, not bytes", bytes_of=4),
)
_FURTHER: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "adamw_for_all",
        "AdamW keeps two numbers for each number: what does Adafactor keep?",
        {"factors": "whole", "stacks": "whole", "extra": 1, "sizes": "none", "momentum": 0},
    ),
)


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
    if len(set(answers)) == 1:
        return "same_for_all", "your answer is the same for all tensors and libraries: what does it read?"
    return UNRECOGNISED, "one tensor of one library: write its state down as a list of shapes, and count their numbers"


def _counts() -> Iterator[tuple[str, str, Count]]:
    for miscount in MISCOUNTS:
        yield miscount.code, miscount.look_at, replace(RIGHT, **miscount.changes)
    for code, look_at, changes in _FURTHER:
        yield code, look_at, replace(RIGHT, **changes)
    for index, one in enumerate(MISCOUNTS):
        for other in MISCOUNTS[index + 1 :]:
            if not set(one.changes) & set(other.changes):
                yield one.code, one.look_at, replace(RIGHT, **one.changes, **other.changes)
