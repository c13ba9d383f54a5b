"""Verdict on the predicted bytes of the state of 8-bit Adam."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.lessons.adam_8bit.state import SMALLEST_QUANTIZED, EightBitStateCase, eight_bit_state_cases
from grader.observation import Observation
from grader.testbed.block_codes import BLOCK
from grader.testbed.optimizer_states import TensorKind
from grader.units import MIB, format_bytes
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen
BOOK_NUMBERS = 256


@dataclass(frozen=True)
class EightBitCount:
    """A way to count the state; as it stands, the right one.

    Attributes:
        moments: How many there are.
        code_bytes: Bytes of a code.
        scales: Of one moment of a tensor: "blocks", "full_blocks", "tensor", "rows", "share" without rounding, "none";
            or "all", of all tensors put together.
        scale_bytes: Bytes of a scale.
        scaled_moments: Moments that have scales.
        block: Numbers of a block.
        books: How many code books there are; 0 for none.
        book_bytes: Bytes of a code book.
        books_for: "model", if any tensor is quantized; "tensor"; or "always".
        limit: Numbers of the smallest quantized tensor.
        limit_is_in: What is compared with the limit: "numbers", "bytes", or "dimensions" for a limit of two.
        small: Bytes of a number in a small tensor's moment; 0 for those of the parameter; -1 where none are kept.
        counter_bytes: Bytes of a step count for each tensor.
        has_frozen: Whether frozen tensors count too.
        extra: Bytes for each number that are no state.
        factor: What the sum is multiplied with.
        is_in_elements: Whether numbers are counted instead of bytes.
    """

    moments: int = 2
    code_bytes: float = 1
    scales: str = "blocks"
    scale_bytes: float = 4
    scaled_moments: int = 2
    block: int = BLOCK
    books: int = 2
    book_bytes: int = 4 * BOOK_NUMBERS
    books_for: str = "model"
    limit: int = SMALLEST_QUANTIZED
    limit_is_in: str = "numbers"
    small: int = 4
    counter_bytes: int = 0
    has_frozen: bool = False
    extra: float = 0
    factor: float = 1
    is_in_elements: bool = False

    def of(self, case: EightBitStateCase) -> float:
        """Return the answer that this way gives."""
        if self.is_in_elements:
            count = replace(self, is_in_elements=False, scale_bytes=1, book_bytes=BOOK_NUMBERS, small=1)
            return count.of(case)
        tensors = [kind for kind in case.tensors if kind.is_trained or self.has_frozen]
        quantized = [kind for kind in tensors if self._is_quantized(kind)]
        total = sum(self.moments * self.code_bytes * kind.elements + self._scale_bytes(kind) for kind in quantized)
        total += sum(self._small_bytes(kind) for kind in tensors if kind not in quantized)
        if self.scales == "all":
            numbers = sum(kind.elements for kind in quantized)
            total += self.scaled_moments * self.scale_bytes * -(-numbers // self.block)
        books = {"model": bool(quantized), "tensor": len(quantized), "always": 1}[self.books_for]
        total += books * self.books * self.book_bytes + self.counter_bytes * len(tensors)
        return self.factor * (total + self.extra * sum(kind.elements for kind in tensors))

    def _is_quantized(self, kind: TensorKind) -> bool:
        if self.limit_is_in == "dimensions":
            return len(kind.shape) > 1
        return kind.elements * (kind.dtype.itemsize if self.limit_is_in == "bytes" else 1) >= self.limit

    def _scale_bytes(self, kind: TensorKind) -> float:
        rows = kind.elements // kind.shape[-1] if kind.shape else 1
        scales: dict[str, float] = {
            "blocks": -(-kind.elements // self.block),
            "full_blocks": kind.elements // self.block,
            "share": kind.elements / self.block,
            "tensor": 1,
            "rows": rows,
        }
        return self.scaled_moments * self.scale_bytes * scales.get(self.scales, 0)

    def _small_bytes(self, kind: TensorKind) -> float:
        number_bytes = {0: kind.dtype.itemsize, -1: 0}.get(self.small, self.small)
        return self.moments * number_bytes * kind.elements


RIGHT = EightBitCount()


@dataclass(frozen=True)
class EightBitMiscount:
    """A misconception about the state, as what it counts otherwise."""

    code: str
    changes: Mapping[str, Any]
    look_at: str


_FORMAT = {"code_bytes": 4, "scales": "none", "books": 0}

MISCOUNTS = (
    EightBitMiscount("scales_left_out", {"scales": "none"}, "the scales: codes alone do not say how large a number is"),
    EightBitMiscount(
        "one_scale_for_the_tensor", {"scales": "tensor"}, "the scales: one for each block, not one for all"
    ),
    EightBitMiscount(
        "scales_of_one_moment", {"scaled_moments": 1}, "the scales: each moment has its own, of four bytes each"
    ),
    EightBitMiscount(
        "short_block_left_out", {"scales": "full_blocks"}, "the last block: does it need a scale if it is short?"
    ),
    EightBitMiscount(
        "part_of_a_scale", {"scales": "share"}, "the last block: it has a whole scale also if it is short"
    ),
    EightBitMiscount(
        "scale_for_each_row", {"scales": "rows"}, "what a block is: 256 numbers in a row, whatever the shape is"
    ),
    EightBitMiscount("blocks_over_all_tensors", {"scales": "all"}, "where blocks begin: each tensor starts its own"),
    EightBitMiscount("scale_of_1_byte", {"scale_bytes": 1}, "the format of a scale: float32"),
    EightBitMiscount(
        "block_of_2048", {"block": 2048}, "the size of a block: 2,048 is the paper's, bitsandbytes takes 256"
    ),
    EightBitMiscount("block_of_4096", {"block": 4096}, "the size of a block: 4,096 is the limit of small tensors"),
    EightBitMiscount("code_books_left_out", {"books": 0}, "the code books: without them no code has a value"),
    EightBitMiscount(
        "code_books_for_each_tensor", {"books_for": "tensor"}, "the code books: all tensors share two of them"
    ),
    EightBitMiscount(
        "code_books_without_codes", {"books_for": "always"}, "the code books of a model without any codes"
    ),
    EightBitMiscount(
        "one_code_book", {"books": 1}, "the code books: is one enough for numbers with and without a sign?"
    ),
    EightBitMiscount("code_book_in_bytes", {"book_bytes": BOOK_NUMBERS}, "a code book holds 256 float32 numbers"),
    EightBitMiscount(
        "small_tensors_quantized", {"limit": 0}, "tensors of fewer than 4,096 numbers: what do they keep?"
    ),
    EightBitMiscount(
        "limit_included", {"limit": SMALLEST_QUANTIZED + 1}, "the limit: a tensor of exactly 4,096 numbers"
    ),
    EightBitMiscount("limit_in_bytes", {"limit_is_in": "bytes"}, "the limit: it counts numbers, not bytes"),
    EightBitMiscount(
        "limit_by_dimension", {"limit_is_in": "dimensions"}, "the limit: it counts numbers, not dimensions"
    ),
    EightBitMiscount("small_in_parameter_format", {"small": 0}, "small tensors: float32 whatever the parameter is"),
    EightBitMiscount("small_with_one_byte", {"small": 1}, "small tensors: the format of their moments"),
    EightBitMiscount("small_left_out", {"small": -1}, "small tensors have moments too"),
    EightBitMiscount(
        "counters_of_4_bytes", {"counter_bytes": 4}, "the step count: in bitsandbytes it is a plain number"
    ),
    EightBitMiscount("counters_of_8_bytes", {"counter_bytes": 8}, "the step count: a plain number is no tensor"),
    EightBitMiscount("frozen_counted", {"has_frozen": True}, "tensors without a gradient: requires_grad tells them"),
    EightBitMiscount(
        "codes_of_one_moment",
        {"code_bytes": 0.5, "scaled_moments": 1},
        "large tensors: both moments have codes and scales of their own",
    ),
    EightBitMiscount("small_with_one_moment", {"small": 2}, "small tensors: two moments, of four bytes a number each"),
    EightBitMiscount(
        "one_moment", {"moments": 1, "scaled_moments": 1}, "Adam's rule: which two means does it carry on?"
    ),
    EightBitMiscount("codes_of_8_bytes", {"code_bytes": 8}, "the unit: a code has 8 bits, which is one byte"),
    EightBitMiscount("codes_of_half_a_byte", {"code_bytes": 0.5}, "the unit: a code has 8 bits, which is one byte"),
    EightBitMiscount(
        "nothing_quantized", _FORMAT, "what 8-bit Adam keeps for a large tensor: AdamW's 8 bytes are gone"
    ),
    EightBitMiscount("parameters_added", {"extra": 4}, "parameters are no state: count what is kept beside them"),
    EightBitMiscount("elements_for_bytes", {"is_in_elements": True}, "the unit: how many bytes does each number take?"),
    EightBitMiscount("bits_for_bytes", {"factor": 8}, "the unit: bytes are asked for, not bits"),
    EightBitMiscount("mebibytes_for_bytes", {"factor": 1 / MIB}, "the unit: bytes are asked for, not MiB"),
    EightBitMiscount("megabytes_for_bytes", {"factor": 1e-6}, "the unit: bytes are asked for, not MB"),
)
_ESTIMATE = EightBitMiscount(
    "estimate_only",
    {"scales": "none", "books": 0, "limit": 0},
    "two bytes for each parameter is the estimate: what is kept beside the codes, and which tensors have none?",
)
_LARGE_ONLY = EightBitMiscount(
    "codes_only", {"scales": "none", "books": 0}, "what a code needs to become a number again"
)


def judge_eight_bit_state(observation: Observation, seed: int) -> Verdict:
    """Compare every answer with what bitsandbytes keeps, and name what explains a miss."""
    cases, answers = eight_bit_state_cases(seed), observation.facts["predicted_bytes"]
    for case, answer in zip(cases, answers, strict=True):
        truth = RIGHT.of(case)
        if answer != truth:
            code, look_at = _recognise(cases, answers)
            measured = f"{_say(answer)}, {answer - truth:+,.10g} bytes"
            return Verdict(code, f"{_say(truth)} for {_describe(case)}", measured, look_at)
    measured = f"{len(cases)} states to the byte; DistilBERT {_say(RIGHT.of(cases[0]))}"
    return Verdict(PASSED, f"{len(cases)} states to the byte", measured)


def _recognise(cases: Sequence[EightBitStateCase], answers: Sequence[float]) -> tuple[str, str]:
    for miscount, count in _counts():
        if _explains(count, cases, answers):
            return miscount.code, miscount.look_at
    if _explains(RIGHT, eight_bit_state_cases(VISIBLE_SEED), answers):
        return "visible_case_hard_coded", "numbers that are right for other tensors: what does your answer depend on?"
    if len(set(answers)) == 1:
        return "same_for_all", "your answer is the same for all tensors: what does it read?"
    wrong = [number for number, case in enumerate(cases) if answers[number] != RIGHT.of(case)]
    if set(wrong) <= {2, 3}:
        return (
            "small_tensors_wrong",
            "tensors of fewer than 4,096 numbers: what do they keep, and do they need code books?",
        )
    return UNRECOGNISED, "one tensor of 5,000 numbers: write its codes, scales and code books down, and count them"


def _counts() -> Iterator[tuple[EightBitMiscount, EightBitCount]]:
    for miscount in (*MISCOUNTS, _ESTIMATE, _LARGE_ONLY):
        yield miscount, replace(RIGHT, **miscount.changes)
    for one, other in itertools.combinations(MISCOUNTS, 2):
        if not set(one.changes) & set(other.changes):
            yield one, replace(RIGHT, **one.changes, **other.changes)


def _explains(count: EightBitCount, cases: Sequence[EightBitStateCase], answers: Sequence[float]) -> bool:
    """Tell whether a count gives every answer, to the byte, or to what is left of it after a rounding."""
    return all(
        math.isclose(answer, value := count.of(case), rel_tol=1e-9) or (value > 2**10 and abs(answer - value) < 1)
        for case, answer in zip(cases, answers, strict=True)
    )


def _describe(case: EightBitStateCase) -> str:
    trained = [kind for kind in case.tensors if kind.is_trained]
    small = [kind for kind in trained if kind.elements < SMALLEST_QUANTIZED]
    numbers = sum(kind.elements for kind in trained) - sum(kind.elements for kind in small)
    frozen = len(case.tensors) - len(trained)
    text = f"{len(trained) - len(small)} large tensors with {numbers:,} numbers and {len(small)} small ones"
    return text + (f", and {frozen} frozen" if frozen else "")


def _say(state_bytes: float) -> str:
    return f"{state_bytes:,.10g} bytes" + (f" ({format_bytes(int(state_bytes))})" if state_bytes >= 2**10 else "")
