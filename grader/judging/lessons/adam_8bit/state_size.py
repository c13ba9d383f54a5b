"""Judges the predicted bytes of the state of 8-bit Adam."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import is_near
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.adam_8bit.state import SMALLEST_QUANTIZED, EightBitStateCase, eight_bit_state_cases
from grader.observation import Observation
from grader.testbed.optimizer_states import TensorKind
from grader.units import MIB, format_bytes
from grader.verdict import PASSED, Verdict


def predict_eight_bit_state(tensors: Sequence[TensorKind]) -> float:
    """Return the bytes that 8-bit Adam keeps from step to step."""
    trained = [kind for kind in tensors if kind.is_trained]
    large = [kind for kind in trained if kind.elements >= 4096]
    small = [kind for kind in trained if kind not in large]
    code_bytes = sum(2 * kind.elements for kind in large)
    scale_bytes = sum(2 * 4 * -(-kind.elements // 256) for kind in large)
    book_bytes = 2 * 256 * 4 if large else 0
    small_bytes = sum(2 * 4 * kind.elements for kind in small)
    return code_bytes + scale_bytes + book_bytes + small_bytes


# The parts of the reference that misconceptions edit.
TRAINED = " if kind.is_trained"
LARGE = "kind.elements >= 4096"
CODES = "sum(2 * kind.elements for kind in large)"
BLOCKS = "-(-kind.elements // 256)"
SCALES = "sum(2 * 4 * -(-kind.elements // 256) for kind in large)"
BOOKS = "2 * 256 * 4 if large else 0"
SMALL_BYTES = "2 * 4 * kind.elements"
RESULT = "code_bytes + scale_bytes + book_bytes + small_bytes"


def judge_eight_bit_state(observation: Observation, seed: int) -> Verdict:
    """Compare every prediction with what bitsandbytes keeps."""
    answer = TABLE.answer(seed, observation.facts["predicted_bytes"])
    if answer.is_right:
        truths = TABLE.truths(seed)
        measured = f"{len(truths)} states to the byte; DistilBERT {_say(truths[0])}"
        return Verdict(PASSED, f"{len(truths)} states to the byte", measured)
    return TABLE.explain(
        answer,
        expected=f"{_say(answer.truth)} for {_describe(answer.case)}",
        measured=f"{_say(answer.value)}, {answer.value - answer.truth:+,.10g} bytes",
        otherwise="Your count differs, but not in a common way. Write down the state of one tensor of 5,000 numbers: "
        "codes, scales and code books.",
    )


def _equals(answer: float, value: float) -> bool:
    """Return whether an answer equals a value: whole bytes exactly, others after their rounding."""
    if isinstance(value, int):
        return answer == value
    return is_near(answer, value, relative=1e-9) or (value > 2**10 and abs(answer - value) < 1)


def _run(predict: Callable[..., float], case: EightBitStateCase) -> float:
    return predict(case.tensors)


TABLE = ReferenceTable(
    predict_eight_bit_state,
    Misconception(
        "scales_left_out",
        "You leave the scales out. Each block of 256 codes has one, of four bytes, for each moment.",
        {SCALES: "0"},
    ),
    Misconception(
        "one_scale_for_the_tensor",
        "You count one scale for a whole tensor. Each block of 256 numbers has its own.",
        {BLOCKS: "1"},
    ),
    Misconception(
        "scales_of_one_moment",
        "You count the scales of one moment. Each moment has its own, of four bytes each.",
        {SCALES: SCALES.replace("2 * 4", "4")},
        variants=[{SCALES: SCALES.replace("2 * 4", "2")}],
    ),
    Misconception(
        "blocks_not_rounded_up",
        "You count only full blocks, or a part of a scale. A short last block has a whole scale: round up.",
        {BLOCKS: "(kind.elements // 256)"},
        variants=[{BLOCKS: "kind.elements / 256"}],
    ),
    Misconception(
        "other_blocks",
        "You count other blocks than bitsandbytes has: 256 numbers of one tensor that follow each other, whatever its "
        "rows are.",
        {BLOCKS: "(kind.elements // kind.shape[-1])"},
        variants=[
            {SCALES: "2 * 4 * -(-sum(kind.elements for kind in large) // 256)"},
            {BLOCKS: "-(-kind.elements // 2048)"},
            {BLOCKS: "-(-kind.elements // 4096)"},
        ],
    ),
    Misconception(
        "code_books_left_out",
        "You leave the code books out. All tensors with codes share two, of 256 float32 numbers each.",
        {BOOKS: "0"},
    ),
    Misconception(
        "code_books_for_each_tensor",
        "You count code books for each tensor. All tensors with codes share two.",
        {BOOKS: "2 * 256 * 4 * len(large)"},
    ),
    Misconception(
        "code_books_without_codes",
        "You count code books where no tensor has codes. Small tensors need none.",
        {BOOKS: "2 * 256 * 4"},
    ),
    Misconception(
        "other_code_books",
        "You count the code books with another size. There are two, of 256 float32 numbers each.",
        {BOOKS: "256 * 4 if large else 0"},
        variants=[{BOOKS: "2 * 256 if large else 0"}],
    ),
    Misconception(
        "small_tensors_quantized",
        "You count codes for small tensors, too. Those of fewer than 4,096 numbers keep both moments in float32.",
        {LARGE: "kind.elements"},
    ),
    Misconception(
        "another_limit",
        "You draw the line between small and large tensors elsewhere. It counts numbers, not bytes or dimensions, and "
        "4,096 numbers are large.",
        {LARGE: "kind.elements > 4096"},
        variants=[{LARGE: "kind.elements * kind.dtype.itemsize >= 4096"}, {LARGE: "len(kind.shape) > 1"}],
    ),
    Misconception(
        "small_in_another_format",
        "You count another format than float32 for small tensors. Their moments take four bytes a number, whatever the "
        "format of the parameter is.",
        {SMALL_BYTES: "2 * kind.dtype.itemsize * kind.elements"},
        variants=[{SMALL_BYTES: "2 * kind.elements"}],
    ),
    Misconception(
        "small_left_out",
        "You leave small tensors out. They keep two float32 moments.",
        {" + small_bytes": ""},
    ),
    Misconception(
        "counters_counted",
        "You count step counters. In bitsandbytes they are plain Python numbers, and only tensors count.",
        {RESULT: f"{RESULT} + 4 * len(trained)"},
        variants=[{RESULT: f"{RESULT} + 8 * len(trained)"}],
    ),
    Misconception(
        "frozen_counted",
        "You count a state for frozen tensors. Look at requires_grad.",
        {TRAINED: ""},
    ),
    Misconception(
        "one_moment",
        "You count one moment. Adam keeps two means: of the gradients and of their squares.",
        {
            CODES: CODES.replace("2 * ", ""),
            SCALES: SCALES.replace("2 * ", ""),
            SMALL_BYTES: "4 * kind.elements",
        },
    ),
    Misconception(
        "nothing_quantized",
        "You count two float32 moments for every tensor, as AdamW keeps them. Large tensors keep codes and scales.",
        {RESULT: "sum(2 * 4 * kind.elements for kind in trained)"},
    ),
    Misconception(
        "estimate_only",
        "You count the codes and nothing else. Scales, code books and small tensors take memory as well.",
        {RESULT: "sum(2 * kind.elements for kind in trained)"},
        variants=[{RESULT: "code_bytes + small_bytes"}],
    ),
    Misconception(
        "parameters_added",
        "You count the parameters as state. Count what the optimizer keeps in addition to them.",
        {RESULT: f"{RESULT} + sum(4 * kind.elements for kind in trained)"},
    ),
    Misconception(
        "elements_for_bytes",
        "You count numbers. Multiply each count by the bytes of one number.",
        {
            SCALES: SCALES.replace("2 * 4", "2"),
            BOOKS: "2 * 256 if large else 0",
            SMALL_BYTES: "2 * kind.elements",
        },
    ),
    Misconception(
        "another_unit",
        "You return bits, MiB or MB. Return bytes.",
        {RESULT: f"8 * ({RESULT})"},
        variants=[{RESULT: f"({RESULT}) / {MIB}"}, {RESULT: f"({RESULT}) / 1e6"}],
    ),
    hard_coded(eight_bit_state_cases),
    Misconception(
        "same_for_all",
        "You return the same number for all tensors. Compute it from the list that you receive.",
        shown_by=lambda answer: len(set(answer.values)) == 1,
    ),
    Misconception(
        "small_tensors_wrong",
        "You are wrong only where there are small tensors. They keep two float32 moments, and need no code books.",
        shown_by=lambda answer: set(answer.wrong) <= {2, 3},
    ),
    run=_run,
    cases=eight_bit_state_cases,
    is_near=_equals,
)


def _describe(case: EightBitStateCase) -> str:
    trained = [kind.elements for kind in case.tensors if kind.is_trained]
    large = [numbers for numbers in trained if numbers >= SMALLEST_QUANTIZED]
    frozen = len(case.tensors) - len(trained)
    text = f"{len(large)} large tensors with {sum(large):,} numbers and {len(trained) - len(large)} small ones"
    return text + (f", and {frozen} frozen" if frozen else "")


def _say(state_bytes: float) -> str:
    return f"{state_bytes:,.10g} bytes" + (f" ({format_bytes(int(state_bytes))})" if state_bytes >= 2**10 else "")
