"""Ways to count the elements of Adafactor's state."""

from __future__ import annotations

from dataclasses import dataclass, replace

from grader.lessons.adafactor.elements import ElementsCase
from grader.testbed.optimizer_states import TensorKind

MOMENTUM = "transformers with momentum"


@dataclass(frozen=True)
class Count:
    """A way to count the state; as it stands, the right one.

    Attributes:
        factors: What is kept of a matrix: "rows_and_columns", "rows", "columns", "rows_plus_product" of both, its
            "shortest" or "longest" side, "rows_twice", "one_less" or "one_more" than rows and columns, "whole", or
            whole where it is a "single_row".
        stacks: More than two dimensions: the last two are the matrix, "each"; one matrix of the first dimension and
            the rest, "flat"; one matrix of all and the last, "last"; one of the first two, "first", or one for each
            index behind them, "first_for_each"; only the last two are counted, "one"; the rows of one matrix and the
            columns of all, "rows_of_one"; one vector for each dimension, "sides"; the first two sides
            alone, "two"; or "whole".
        vectors: One dimension: "whole", "number" for a single one, "matrix" with one row, "row" where there is a
            dimension, "nothing", or "no_single" number.
        steps: Step counts of one tensor.
        step_of: Which libraries count steps: "both", "torch" or "transformers".
        sizes: Which libraries keep the RMS: "transformers", "both", "none", or transformers with "momentum" alone, or
            "without_momentum"; or transformers for "matrices" alone.
        momentum: Numbers of momentum for each number.
        momentum_of: "case", or for "all", for "matrices" alone, for "transformers" in both its forms, or
            wherever it is not "transformers" alone, "not_transformers".
        is_factored_with_momentum: Whether momentum leaves the second moment factored.
        is_second_replaced: Whether momentum takes the place of the second moment.
        has_frozen: Whether frozen tensors count too.
        has_frozen_scalars: Whether frozen tensors have a step count.
        is_first_only: Whether the first trained tensor alone is counted.
        extra: Numbers for each number of a parameter that are no state.
        extra_scalars: Further single numbers of each tensor.
        is_once: Whether all single numbers are counted once in all.
        is_step_once: Whether the step count is.
        has_single: Whether a tensor without dimensions counts at all.
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
    is_second_replaced: bool = False
    has_frozen: bool = False
    extra: int = 0
    extra_scalars: int = 0
    is_once: bool = False
    is_step_once: bool = False
    has_single: bool = True
    bytes_of: float = 1
    has_frozen_scalars: bool = False
    is_first_only: bool = False

    def of(self, case: ElementsCase) -> float:
        """Return the answer that this way gives."""
        tensors = [kind for kind in case.tensors if kind.is_trained or self.has_frozen]
        tensors = tensors[:1] if self.is_first_only else tensors
        if not self.has_single:
            return replace(self, has_single=True).of(replace(case, tensors=tuple(k for k in tensors if k.shape)))
        scalars = self._scalars(case) * (1 if self.is_once else len(tensors))
        if self.sizes == "matrices" and case.optimizer != "torch":
            scalars += sum(len(kind.shape) > 1 for kind in tensors)
        if self.is_step_once:
            scalars -= len(tensors) - 1
        scalars += self.has_frozen_scalars * sum(not kind.is_trained for kind in case.tensors)
        return self.bytes_of * (scalars + sum(self._of_tensor(kind, case) for kind in tensors))

    def _scalars(self, case: ElementsCase) -> int:
        is_torch = case.optimizer == "torch"
        steps = self.step_of in ("both", "torch" if is_torch else "transformers")
        keepers = {"transformers": not is_torch, "both": True, "momentum": case.optimizer == MOMENTUM}
        keepers["without_momentum"] = case.optimizer == "transformers"
        sizes = keepers.get(self.sizes, False)
        return steps + sizes + self.extra_scalars

    def _of_tensor(self, kind: TensorKind, case: ElementsCase) -> int:
        has_momentum = case.optimizer == MOMENTUM or self.momentum_of == "all"
        has_momentum |= self.momentum_of == "transformers" and case.optimizer == "transformers"
        has_momentum |= self.momentum_of == "not_transformers" and case.optimizer == "torch"
        has_momentum &= self.momentum_of != "matrices" or len(kind.shape) > 1
        beside = (self.extra + (self.momentum if has_momentum else 0)) * kind.elements
        if has_momentum and self.is_second_replaced:
            return beside
        if has_momentum and not self.is_factored_with_momentum:
            return beside + kind.elements
        return beside + self._second_moment(kind.shape, kind.elements)

    def _second_moment(self, shape: tuple[int, ...], elements: int) -> int:
        if len(shape) < 2:
            kept = {"number": 1, "matrix": 1 + elements, "no_single": elements if shape else 0, "nothing": 0}
            kept["row"] = elements + (1 if shape else 0)
            return kept.get(self.vectors, elements)
        stacks = elements // max(shape[-1] * shape[-2], 1)
        if len(shape) > 2 and self.stacks != "each":
            flat = shape[0] + elements // shape[0], shape[0] * shape[1] + elements // (shape[0] * shape[1])
            sides = {
                "shortest": min(shape),
                "longest": max(shape),
                "flat": flat[0],
                "first": flat[1],
                "last": shape[-1] + elements // shape[-1],
                "first_for_each": elements // shape[0] + elements // shape[1],
                "rows_of_one": shape[-2] + stacks * shape[-1],
                "one": shape[-1] + shape[-2],
                "sides": sum(shape),
            }
            sides["two"] = shape[0] + shape[1]
            return sides.get(self.stacks, elements)
        rows, columns = stacks * shape[-2], stacks * shape[-1]
        kept = {"rows": rows, "columns": columns, "rows_plus_product": rows + columns + elements, "whole": elements}
        kept |= {"shortest": min(shape), "longest": max(shape), "rows_twice": 2 * rows, "one_less": rows + columns - 1}
        kept |= {"one_more": rows + columns + stacks}
        kept["single_row"] = elements if min(shape[-2:]) == 1 else rows + columns
        return kept.get(self.factors, rows + columns)


RIGHT = Count()
