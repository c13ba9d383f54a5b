"""Verdict on a block quantizer: the largest size of each block as its scale, and the nearest code for each number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.judging.lessons.adam_8bit.block_recipes import BlockRecipe, quantize
from grader.judging.lessons.adam_8bit.block_shapes import judge_shapes
from grader.lessons.adam_8bit.blocks import BlockCase, block_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

# Two float32 divisions by a scale differ by 6e-8 of it; the codes around zero are 5e-7 of it apart.
TOLERANCE = 1.5e-7
SAME_CODES = 0.995  # a recipe's float32 may round a number in the middle of two codes to the other side


@dataclass(frozen=True)
class BlockMistake:
    """A misconception about the quantizer, as the decisions that it makes otherwise."""

    code: str
    recipe: BlockRecipe
    look_at: str


MISTAKES = (
    BlockMistake("largest_without_sign", BlockRecipe(scale="max"), "the scale: a block's largest size may be negative"),
    BlockMistake("scale_with_sign", BlockRecipe(scale="signed"), "the scale: the size of the number, without its sign"),
    BlockMistake(
        "mean_for_largest", BlockRecipe(scale="mean"), "the scale: the largest size in the block, not the mean"
    ),
    BlockMistake("deviation_for_largest", BlockRecipe(scale="deviation"), "the scale: codes reach from -1 to 1 only"),
    BlockMistake("sum_for_largest", BlockRecipe(scale="sum"), "the scale: the largest size in the block, not the sum"),
    BlockMistake(
        "norm_for_largest", BlockRecipe(scale="norm"), "the scale: the largest size in the block, not the norm"
    ),
    BlockMistake(
        "range_for_largest", BlockRecipe(scale="range"), "the scale: the largest size, not largest minus smallest"
    ),
    BlockMistake("square_for_size", BlockRecipe(scale="squared"), "the scale: the size itself, not its square"),
    BlockMistake(
        "smallest_for_largest", BlockRecipe(scale="smallest"), "the scale: the largest size, not the smallest"
    ),
    BlockMistake("scale_halved", BlockRecipe(scale="half"), "the scale: a factor of one half"),
    BlockMistake("code_below", BlockRecipe(code="below"), "the nearest code: the one below may be further away"),
    BlockMistake(
        "code_above", BlockRecipe(code="above"), "the nearest code: searching gives the first that is not smaller"
    ),
    BlockMistake("code_one_too_high", BlockRecipe(code="next"), "the place of a code: places count from 0"),
    BlockMistake("linear_codes", BlockRecipe(code="linear"), "the code book: its numbers lie at unequal distances"),
    BlockMistake("linear_codes_cut", BlockRecipe(code="cut"), "the code book: its numbers lie at unequal distances"),
    BlockMistake(
        "not_divided", BlockRecipe(code="unscaled"), "the scale: what is looked up in the book lies between -1 and 1"
    ),
    BlockMistake(
        "multiplied_by_scale", BlockRecipe(code="multiplied"), "the scale: is a number divided or multiplied?"
    ),
    BlockMistake(
        "signed_book_always", BlockRecipe(book="signed"), "the code book: the one that your function is handed"
    ),
    BlockMistake("blocks_strided", BlockRecipe(block="strided"), "what a block is: numbers that follow each other"),
    BlockMistake(
        "blocks_by_columns", BlockRecipe(block="columns"), "what a block is: rows one after the other, not columns"
    ),
    BlockMistake("codes_reversed", BlockRecipe(code="reversed"), "the order of the codes: place 0 is the smallest"),
    BlockMistake("sign_lost", BlockRecipe(code="sizes"), "the sign: sizes make the scale, numbers make the codes"),
    BlockMistake("scale_of_first_block", BlockRecipe(code="first"), "the divisor: each block has its own scale"),
    BlockMistake(
        "last_code_never_used", BlockRecipe(code="capped"), "the largest number of a block: which place has its code?"
    ),
    BlockMistake("scale_of_the_tensor", BlockRecipe(block="tensor"), "the scale: of a block, not of the tensor"),
)


def judge_block_codes(observation: Observation, seed: int) -> Verdict:
    """Judge formats and shapes, then scales, then codes."""
    cases, settings = block_cases(seed), observation.facts["settings"]
    verdict = judge_shapes(cases, settings)
    if verdict:
        return verdict
    for number, case in enumerate(cases):
        codes, scales = _read(observation.tensors, number)
        expected, measured = _miss(case, codes, scales)
        if expected:
            found = _recognise(cases, observation.tensors, number)
            code, look_at = _divisor(cases, number, scales) or found or _general(case, codes, scales)
            return Verdict(code, f"{expected} ({describe(case)})", measured, look_at)
    numbers = sum(case.numbers for case in cases)
    measured = f"{numbers:,} numbers in {sum(case.blocks for case in cases)} blocks, each with its nearest code"
    return Verdict(PASSED, "the nearest codes", measured)


def describe(case: BlockCase) -> str:
    """Name a case."""
    shape = " x ".join(map(str, case.shape))
    return f"{shape} numbers in blocks of {case.block_size}, {case.book} codes"


def _read(tensors: Mapping[str, Tensor], number: int) -> tuple[Tensor, Tensor]:
    return tensors[f"{number}.codes"].flatten().long(), tensors[f"{number}.scales"].flatten()


def _largest(case: BlockCase) -> tuple[Tensor, Tensor]:
    """Return the right scales, [blocks], and that of each number."""
    parts = torch.split(case.make_values().flatten(), case.block_size)
    scales = torch.stack([part.abs().max() for part in parts])
    return scales, scales.repeat_interleave(case.block_size)[: case.numbers]


def _miss(case: BlockCase, codes: Tensor, scales: Tensor) -> tuple[str, str]:
    """Say what was expected and what was measured where an answer is wrong; "" where it is right."""
    wanted, scale_of_each = _largest(case)
    if not bool(scales.isfinite().all()):
        return "finite scales", f"{int((~scales.isfinite()).sum())} scales are NaN or infinite"
    off = (scales - wanted).abs() > 1e-6 * wanted
    if bool(off.any()):
        block = int(off.nonzero()[0])
        expected = f"the scale {float(wanted[block]):.4g} for block {block}"
        return expected, f"{float(scales[block]):.4g}; {int(off.sum())} of {len(off)} scales are wrong"
    book = case.make_code_book()
    scaled = case.make_values().flatten() / torch.where(
        scale_of_each == 0, torch.ones_like(scale_of_each), scale_of_each
    )
    if bool((codes >= len(book)).any()):
        return f"codes from 0 to {len(book) - 1}", f"a code of {int(codes.max())}"
    best = (scaled[:, None] - book).abs().amin(dim=1)
    missed = ((book[codes] - scaled).abs() - best > TOLERANCE) & (scale_of_each > 0)
    if not bool(missed.any()):
        return "", ""
    place = int(missed.nonzero()[0])
    expected = f"the code nearest to {float(scaled[place]):.4g} of its scale, for number {place}"
    found = float(book[codes[place]])
    return expected, f"the code of {found:.4g}; {int(missed.sum())} of {case.numbers} codes are not the nearest"


def _recognise(cases: Sequence[BlockCase], tensors: Mapping[str, Tensor], first: int) -> tuple[str, str] | None:
    """Find the misconception that gives what was seen in the first wrong case, and by preference in all."""
    fitting: BlockMistake | None = None
    for mistake in MISTAKES:
        fits = (_explains(mistake.recipe, case, *_read(tensors, number)) for number, case in _from(cases, first))
        if next(fits):
            if all(fits):
                return mistake.code, mistake.look_at
            fitting = fitting or mistake
    return (fitting.code, fitting.look_at) if fitting else None


def _from(cases: Sequence[BlockCase], first: int) -> Iterator[tuple[int, BlockCase]]:
    yield first, cases[first]
    yield from ((number, case) for number, case in enumerate(cases) if number != first)


def _explains(recipe: BlockRecipe, case: BlockCase, codes: Tensor, scales: Tensor) -> bool:
    wanted_codes, wanted = quantize(case, recipe)
    if len(wanted) == 1:
        wanted = wanted.expand(len(scales))
    if wanted.shape != scales.shape or wanted_codes.shape != codes.shape:
        return False
    is_same = torch.isclose(scales, wanted, rtol=1e-5, atol=0) | (wanted.isnan() & scales.isnan())
    return bool(is_same.all()) and float((wanted_codes == codes).float().mean()) >= SAME_CODES


def _divisor(cases: Sequence[BlockCase], first: int, scales: Tensor) -> tuple[str, str] | None:
    """Tell a divisor that is more than the scale: only the smallest numbers have other codes."""
    case = cases[first]
    are_scales_right = torch.allclose(scales, _largest(case)[0], rtol=1e-6, atol=0)
    if case.size < 1 and first == len(cases) - 1 and are_scales_right:
        return "divisor_not_the_scale", "the divisor: a second moment may be 1e-15, so what is added to it counts"
    return None


def _general(case: BlockCase, codes: Tensor, scales: Tensor) -> tuple[str, str]:
    """Tell families of mistakes that no recipe explains."""
    wanted, _ = _largest(case)
    if not bool(scales.isfinite().all()):
        return "scale_not_finite", "a division by zero: which block holds zeros only?"
    is_right = torch.isclose(scales, wanted, rtol=1e-6, atol=0)
    if bool(is_right[wanted > 0].all()) and not bool(is_right.all()):
        return "scale_of_a_zero_block", "a block of zeros: its largest size is 0, and that is its scale"
    if not bool(is_right[-1]) and bool(is_right[:-1].all()):
        return "short_block_wrong", "the last block: what fills it up must not change its scale"
    if torch.allclose(scales[wanted > 0] * wanted[wanted > 0], torch.ones(int((wanted > 0).sum())), rtol=1e-4):
        return "scale_inverted", "the scales: a decoder multiplies by them, so they are no reciprocals"
    ratios = scales[wanted > 0] / wanted[wanted > 0]
    if not bool(is_right.all()):
        if bool(torch.isclose(ratios, ratios[:1], rtol=1e-4).all()) and abs(float(ratios[0]) - 1) > 1e-4:
            return "scale_times_a_factor", f"the scales: each is {float(ratios[0]):.4g} times the largest size"
        return "scales_wrong", "one block: take its numbers by hand, and their largest size"
    if len(set(codes.tolist())) == 1:
        return "one_code_for_all", "the codes: each number has its own place in the code book"
    return UNRECOGNISED, "one number of the second block: divide it by its scale, and search the code book by hand"
