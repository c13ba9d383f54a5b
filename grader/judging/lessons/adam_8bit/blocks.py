"""Judges a block quantizer: the largest size of each block as its scale, and the nearest code for each number."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.lessons.adam_8bit.block_shapes import judge_shapes
from grader.judging.misconceptions import Misconception
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.adam_8bit.blocks import BlockCase, block_cases
from grader.observation import Observation
from grader.testbed.block_codes import make_code_book  # noqa: F401  (an edit uses it)
from grader.verdict import PASSED, Verdict

# Two float32 divisions by a scale differ by 6e-8 of it; the codes around zero are 5e-7 of it apart.
TOLERANCE = 1.5e-7
# Another float32 arithmetic may round a number in the middle of two codes to the other side.
OTHER_SIDE = 1 / 2000

Quantized = tuple[Tensor, Tensor]  # codes [numbers], scales [blocks]


def quantize_blocks(values: Tensor, code_book: Tensor, block_size: int) -> Quantized:
    """Return codes in the shape of the values, and scales [blocks]."""
    borders = (code_book[1:] + code_book[:-1]) / 2
    flat = values.flatten()
    blocks = F.pad(flat, (0, -len(flat) % block_size)).view(-1, block_size)
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)[:, None]
    codes = torch.bucketize(blocks / divisors, borders)
    return codes.flatten()[: len(flat)].view(values.shape), scales


# The parts of the reference that misconceptions edit.
BORDERS = "borders = (code_book[1:] + code_book[:-1]) / 2"
BLOCKS = "blocks = F.pad(flat, (0, -len(flat) % block_size)).view(-1, block_size)"
LARGEST = "blocks.abs().amax(dim=1)"
CODES = "torch.bucketize(blocks / divisors, borders)"
RESULT = "codes.flatten()[: len(flat)].view(values.shape), scales"
LINEAR = "(blocks / divisors + 1) / 2 * (len(code_book) - 1)"


def judge_block_codes(observation: Observation, seed: int) -> Verdict:
    """Judge number formats and shapes, then scales, then codes."""
    cases, tensors = block_cases(seed), observation.tensors
    verdict = judge_shapes(cases, observation.facts["settings"])
    if verdict:
        return verdict
    read = [(tensors[f"{number}.codes"].flatten().long(), tensors[f"{number}.scales"].flatten()) for number in range(5)]
    answer = TABLE.answer(seed, read)
    for number, case in enumerate(cases):
        expected, measured, otherwise = _find_miss(case, *read[number])
        if expected:
            texts = {"expected": f"{expected} ({describe(case)})", "measured": measured, "otherwise": otherwise}
            return TABLE.explain(answer, answer.only(number), **texts)
    numbers = sum(case.numbers for case in cases)
    measured = f"{numbers:,} numbers in {sum(case.blocks for case in cases)} blocks, each with its nearest code"
    return Verdict(PASSED, "the nearest codes", measured)


def describe(case: BlockCase) -> str:
    """Name a case."""
    return f"{' x '.join(map(str, case.shape))} numbers in blocks of {case.block_size}, {case.book} codes"


def _find_miss(case: BlockCase, codes: Tensor, scales: Tensor) -> tuple[str, str, str]:
    """Return what was expected, what was measured and where to look where an answer is wrong, else empty texts."""
    values, book = case.make_values(), case.make_code_book()
    wanted = quantize_blocks(values, book, case.block_size)[1]
    otherwise = "Your scales differ, but not in a common way. Take the largest size of one block by hand."
    if not bool(scales.isfinite().all()):
        return "finite scales", f"{int((~scales.isfinite()).sum())} scales are NaN or infinite", otherwise
    off = (scales - wanted).abs() > 1e-6 * wanted
    if bool(off.any()):
        block = int(off.nonzero()[0])
        expected = f"the scale {float(wanted[block]):.4g} for block {block}"
        return expected, f"{float(scales[block]):.4g}; {int(off.sum())} of {len(off)} scales are wrong", otherwise
    otherwise = "Your codes differ, but not in a common way. Divide one number of the second block by its scale, and "
    otherwise += "search the code book by hand."
    if bool((codes >= len(book)).any()):
        return f"codes from 0 to {len(book) - 1}", f"a code of {int(codes.max())}", otherwise
    scale_of_each = wanted.repeat_interleave(case.block_size)[: case.numbers]
    scaled = values.flatten() / torch.where(scale_of_each == 0, torch.ones_like(scale_of_each), scale_of_each)
    best = (scaled[:, None] - book).abs().amin(dim=1)
    missed = ((book[codes] - scaled).abs() - best > TOLERANCE) & (scale_of_each > 0)
    if not bool(missed.any()):
        return "", "", ""
    place = int(missed.nonzero()[0])
    expected = f"the code nearest to {float(scaled[place]):.4g} of its scale, for number {place}"
    measured = f"the code of {float(book[codes[place]]):.4g}; {int(missed.sum())} of {case.numbers} are not the nearest"
    return expected, measured, otherwise


def _run(quantize: Callable[..., Quantized], case: BlockCase) -> Quantized:
    codes, scales = quantize(case.make_values(), case.make_code_book(), case.block_size)
    return codes.flatten().long(), scales.flatten()


def _is_near(answer: Quantized, value: Quantized) -> bool:
    """Return whether scales are equal, and codes are, except for a few that are rounded to the other side."""
    (codes, scales), (wanted_codes, wanted) = answer, value
    if codes.shape != wanted_codes.shape or scales.shape != wanted.shape:
        return False
    is_same = torch.isclose(scales, wanted, rtol=1e-5, atol=0, equal_nan=True)
    return bool(is_same.all()) and int((codes != wanted_codes).sum()) <= 1 + OTHER_SIDE * len(codes)


def _first_scales(answer: Answer) -> tuple[Tensor, Tensor]:
    """Return the scales of the first case that is wrong, and the right ones."""
    return (answer.value[1], answer.truth[1]) if answer.wrong else (torch.zeros(1), torch.ones(1))


def _are_finite(answer: Answer) -> bool:
    return bool(_first_scales(answer)[0].isfinite().all())


def _is_only_the_smallest_wrong(answer: Answer) -> bool:
    """Return whether only numbers as small as squares of gradients are wrong, with right scales."""
    scales, wanted = _first_scales(answer)
    return bool(answer.wrong) and answer.case.size < 1 and torch.allclose(scales, wanted, rtol=1e-6, atol=0)


def _is_last_block_wrong(answer: Answer) -> bool:
    scales, wanted = _first_scales(answer)
    is_right = torch.isclose(scales, wanted, rtol=1e-6, atol=0)
    return len(is_right) > 1 and bool(is_right[:-1].all()) and not bool(is_right[-1])


def _are_scaled(answer: Answer) -> bool:
    """Return whether all scales are too large, or too small, by the same factor."""
    scales, wanted = _first_scales(answer)
    ratios = (scales / wanted)[wanted > 0]
    return bool(torch.isclose(ratios, ratios[:1], rtol=1e-4).all()) and abs(float(ratios[0]) - 1) > 1e-4


TABLE = ReferenceTable(
    quantize_blocks,
    Misconception(
        "divisor_not_the_scale",
        "You divide by more than the scale. A second moment may be 1e-15, so even 1e-8 added to it spoils its codes.",
        shown_by=_is_only_the_smallest_wrong,
    ),
    Misconception(
        "largest_without_sign",
        "You take the largest number of a block, but its largest size may belong to a negative one. Take abs() first.",
        {LARGEST: "blocks.amax(dim=1)"},
    ),
    Misconception(
        "another_number_for_largest",
        "You take a mean, a norm or a square of a block as its scale. Take the largest size, so that codes from -1 to "
        "1 reach every number.",
        {LARGEST: "blocks.abs().mean(dim=1)"},
        variants=[
            {LARGEST: "torch.linalg.vector_norm(blocks, dim=1)"},
            {LARGEST: "blocks.square().amax(dim=1)"},
            {LARGEST: "blocks.std(dim=1)"},
        ],
    ),
    Misconception(
        "neighbour_for_nearest",
        "You take the next code below or above each number. Take the nearest one: its borders are in the middle.",
        {CODES: "(torch.searchsorted(code_book, blocks / divisors, right=True) - 1).clamp(0)"},
        variants=[{CODES: "torch.searchsorted(code_book, blocks / divisors).clamp(max=len(code_book) - 1)"}],
    ),
    Misconception(
        "code_one_too_high",
        "You return places that are one too high. Places count from 0.",
        {CODES: f"({CODES} + 1).clamp(max=len(code_book) - 1)"},
    ),
    Misconception(
        "linear_codes",
        "You compute codes at equal distances. Search the code book, whose values are closer to each other near 0.",
        {CODES: f"({LINEAR}).round().clamp(0, 255).long()"},
        variants=[{CODES: f"({LINEAR}).clamp(0, 255).long()"}],
    ),
    Misconception(
        "not_divided",
        "You do not divide the numbers by their scale. The values of the code book are between -1 and 1.",
        {CODES: "torch.bucketize(blocks, borders)"},
        variants=[{CODES: "torch.bucketize(blocks * divisors, borders)"}],
    ),
    Misconception(
        "signed_book_always",
        "You search SIGNED whatever the code book is. Use the `code_book` that your function receives.",
        {BORDERS: f"code_book = make_code_book(is_signed=True); {BORDERS}"},
    ),
    Misconception(
        "blocks_in_another_order",
        "You put numbers into a block that do not follow each other. Go through the tensor row by row, and make each "
        "block a row of view(-1, block_size).",
        {
            BLOCKS: BLOCKS.replace(".view(-1, block_size)", ".view(block_size, -1).t().contiguous()"),
            RESULT: "codes.t().flatten()[: len(flat)].view(values.shape), scales",
        },
        variants=[
            {
                "flat = values.flatten()": "flat = values.transpose(0, -1).flatten()",
                RESULT: "codes.flatten()[: len(flat)].view(values.transpose(0, -1).shape).transpose(0, -1), scales",
            }
        ],
    ),
    Misconception(
        "codes_reversed",
        "You count places from the end of the code book. Place 0 is that of its smallest value.",
        {CODES: f"len(code_book) - 1 - {CODES}"},
    ),
    Misconception(
        "sign_lost",
        "You encode sizes, so all negative numbers become positive. Only the scale takes sizes.",
        {CODES: "torch.bucketize(blocks.abs() / divisors, borders)"},
    ),
    Misconception(
        "scale_of_first_block",
        "You divide every block by the scale of the first one. Divide each by its own: divisors[:, None].",
        {CODES: "torch.bucketize(blocks / divisors[0], borders)"},
    ),
    Misconception(
        "last_code_never_used",
        "You never use the last code. The largest number of a block may have it: look at the upper end of a clamp.",
        {CODES: f"{CODES}.clamp(max=len(code_book) - 2)"},
    ),
    Misconception(
        "scale_inverted",
        "You return the reciprocals of the scales. A decoder multiplies by them: return the scales themselves.",
        {RESULT: RESULT.replace("scales", "1 / divisors[:, 0] * (scales > 0)")},
        variants=[{RESULT: RESULT.replace("scales", "1 / divisors[:, 0]")}],
    ),
    Misconception(
        "scale_not_finite",
        "You divide by a scale of zero. A block that holds only zeros has the scale 0: divide it by 1.",
        shown_by=lambda answer: not _are_finite(answer),
    ),
    Misconception(
        "scale_of_a_zero_block",
        "You return the divisor of a block of zeros as its scale. Its largest size is 0, and that is its scale.",
        {RESULT: RESULT.replace("scales", "divisors[:, 0]")},
    ),
    Misconception(
        "short_block_wrong",
        "You change the scale of the last, short block by what you fill it up with. Fill it up with zeros.",
        shown_by=_is_last_block_wrong,
    ),
    Misconception(
        "scale_times_a_factor",
        "You multiply each scale by the same factor. A scale is the largest size of its block.",
        shown_by=_are_scaled,
    ),
    run=_run,
    cases=block_cases,
    is_near=_is_near,
)
