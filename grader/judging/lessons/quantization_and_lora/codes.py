"""Judges an NF4 quantizer: formats and shapes, then scales, then the code of each number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.lessons.quantization_and_lora.codes import CodesCase, codes_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

# The 16 values of NF4, rounded as bitsandbytes has them; a test compares them.
NF4 = torch.tensor(
    [
        *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635),
        *(-0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725),
        *(0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
    ]
)
OTHER_SIDE = 2  # codes: another float32 arithmetic rounds one number in a million to the other side of a border


def quantize_nf4(values: Tensor, block_size: int) -> tuple[Tensor, Tensor]:
    """Return packed codes [bytes] and scales [blocks]."""
    book = NF4
    flat = values.flatten()
    blocks = F.pad(flat, (0, -len(flat) % block_size)).view(-1, block_size)
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)[:, None]
    codes = torch.bucketize(blocks / divisors, (book[1:] + book[:-1]) / 2)
    codes = codes.flatten()[: len(flat)]
    even = F.pad(codes, (0, len(codes) % 2))
    packed = 16 * even[0::2] + even[1::2]
    return packed, scales


@dataclass(frozen=True)
class Formats:
    """What a quantizer returned for one tensor, except for its numbers.

    Attributes:
        case: What was quantized.
        facts: "packed" and "scales", each with "shape" and "dtype", and "is_changed".
    """

    case: CodesCase
    facts: Mapping[str, Any]

    @property
    def packed(self) -> list[int]:
        """Shape of the codes."""
        return [int(side) for side in self.facts["packed"]["shape"]]

    @property
    def scales(self) -> list[int]:
        """Shape of the scales."""
        return [int(side) for side in self.facts["scales"]["shape"]]

    @property
    def bytes(self) -> int:
        """Bytes that two codes each make."""
        return -(-self.case.numbers // 2)

    @property
    def expected_scales(self) -> str:
        """How many scales there have to be, in words."""
        case = self.case
        return f"{case.blocks} scales, one for each block of {case.block_size} of {case.numbers:,} numbers"


def judge_nf4_codes(observation: Observation, seed: int) -> Verdict:
    """Judge formats and shapes, then scales, then codes."""
    cases = codes_cases(seed)
    for case, facts in zip(cases, observation.facts["settings"], strict=True):
        formats = Formats(case, facts)
        verdict = FORMATS.judge(formats, f"{formats.bytes} bytes, and {formats.expected_scales}")
        if verdict:
            return verdict
    tensors = observation.tensors
    values = [
        {"scales": tensors[f"{index}.scales"].float(), "codes": _unpack(tensors[f"{index}.packed"], case)}
        for index, case in enumerate(cases)
    ]
    answer = TABLE.answer(seed, values)
    for name in ("scales", "codes"):
        part = answer.part(name)
        if not part.is_right:
            return TABLE.explain(part, answer, **_texts(part.case, name, part.value, part.truth))
    numbers = sum(case.numbers for case in cases)
    return Verdict(PASSED, "", f"{numbers:,} numbers in {sum(case.blocks for case in cases)} blocks, two codes a byte")


def _texts(case: CodesCase, name: str, value: Tensor, truth: Tensor) -> dict[str, str]:
    place = f"({' x '.join(map(str, case.shape))} numbers in blocks of {case.block_size})"
    off = value != truth if name == "codes" else ~torch.isclose(value, truth, rtol=1e-5, atol=0)
    first = int(off.nonzero()[0])
    expected = f"{name.removesuffix('s')} {truth[first].item():.6g} at place {first} {place}"
    measured = f"{value[first].item():.6g}; {int(off.sum())} of {len(off)} {name} differ"
    if name == "codes":
        otherwise = CODES_OTHERWISE.format(int((value.int() - truth.int()).abs().max()))
    elif truth[first] == 0:
        otherwise = "You return a scale other than 0 for a block of zeros. Guard the division only."
    else:
        otherwise = SCALES_OTHERWISE.format((value[first] / truth[first]).item())
    return {"expected": expected, "measured": measured, "otherwise": otherwise}


def _unpack(packed: Tensor, case: CodesCase) -> Tensor:
    """Return one code for each number; a number of a block of zeros may have any, and gets the code of 0."""
    packed = packed.flatten().to(torch.uint8)
    codes = torch.stack((packed // 16, packed % 16), dim=1).flatten()[: case.numbers]
    return torch.where(_has_scale(case), codes, torch.full_like(codes, 7))


def _has_scale(case: CodesCase) -> Tensor:
    values = F.pad(case.make_values().flatten(), (0, -case.numbers % case.block_size)).view(-1, case.block_size)
    return (values.abs().amax(dim=1) > 0).repeat_interleave(case.block_size)[: case.numbers]


def _run(quantize: Callable[..., tuple[Tensor, Tensor]], case: CodesCase) -> dict[str, Tensor]:
    packed, scales = quantize(case.make_values(), case.block_size)
    return {"scales": scales.flatten(), "codes": _unpack(packed, case)}


def _is_near(answer: Any, value: Any) -> bool:
    """Return whether scales are equal, and codes are, except for a few that are rounded to the other side."""
    if isinstance(value, Mapping):
        return all(_is_near(answer[name], value[name]) for name in value)
    if answer.shape != value.shape:
        return False
    if value.is_floating_point():
        return bool(torch.isclose(answer, value, rtol=1e-5, atol=0).all())
    return int((answer != value).sum()) <= OTHER_SIDE


def _count(code: str, diagnosis: str, count: Callable[[CodesCase], int]) -> Misconception[Formats]:
    """Return a misconception that shows in a wrong number of scales."""
    return Misconception(
        code,
        diagnosis,
        shown_by=lambda formats: count(formats.case) == prod(formats.scales) != formats.case.blocks,
        measured="scales of shape {scales}",
    )


SCALES_OTHERWISE = (
    "Your scale is {:.5g} times the largest magnitude of its block. Take it by hand: a block is `block_size` "
    "consecutive numbers, row by row, and the last may be short."
)
CODES_OTHERWISE = (
    "Your codes differ by up to {} from those of the nearest values of NF4. Use its midpoints in float32; the first "
    "code of a pair is the high half."
)
FORMATS = Table[Formats](
    Misconception(
        "values_changed",
        "You write into `values`. Make a new tensor instead.",
        shown_by=lambda formats: formats.facts["is_changed"],
        measured="other values after the call",
    ),
    Misconception(
        "pair_swapped",
        "You return the scales first. Return the packed codes, then the scales.",
        shown_by=lambda formats: formats.facts["scales"]["dtype"] == "uint8" != formats.facts["packed"]["dtype"],
        measured="scales, then codes",
    ),
    Misconception(
        "codes_not_packed",
        "You return one code a byte. Two codes of four bits share a byte.",
        shown_by=lambda formats: prod(formats.packed) in (formats.case.numbers, formats.case.numbers + 1),
        measured="{packed} codes",
    ),
    Misconception(
        "filling_packed",
        "You pack more than the codes, as the zeros that fill the last block up. Cut them off before you pack.",
        shown_by=lambda formats: prod(formats.packed) > formats.bytes,
        measured="{packed} bytes",
    ),
    Misconception(
        "last_code_lost",
        "You drop codes, as the last one of an odd number of them. Its byte has a free half.",
        shown_by=lambda formats: prod(formats.packed) < formats.bytes,
        measured="{packed} bytes",
    ),
    _count(
        "block_size_not_read",
        "You use blocks of 64 whatever `block_size` says.",
        lambda case: -(-case.numbers // 64) if case.block_size != 64 else 0,
    ),
    _count(
        "short_block_left_out",
        "You leave the numbers behind the last full block without a scale. A short block has one, too.",
        lambda case: case.numbers // case.block_size,
    ),
    _count(
        "blocks_transposed",
        "You take the largest over the wrong dimension of your blocks. Each block is a row.",
        lambda case: case.block_size,
    ),
    _count("one_scale_for_all", "You make one scale for the whole tensor. Each block has its own.", lambda case: 1),
    _count(
        "scale_for_each_row",
        "You make a scale for each row of the tensor. A block runs over the ends of rows.",
        lambda case: case.numbers // case.shape[-1],
    ),
    Misconception(
        "wrong_number_of_scales",
        "You make another number of scales than there are blocks. Count the short one, and use `block_size`.",
        shown_by=lambda formats: prod(formats.scales) != formats.case.blocks,
        measured="scales of shape {scales}",
    ),
    Misconception(
        "not_uint8",
        "You return codes in another format. A byte of two codes is torch.uint8.",
        shown_by=lambda formats: formats.facts["packed"]["dtype"] != "uint8",
        measured="codes in {facts[packed][dtype]}",
    ),
    Misconception(
        "scales_not_float32",
        "You return scales in another format. They stay float32.",
        shown_by=lambda formats: formats.facts["scales"]["dtype"] != "float32",
        measured="scales in {facts[scales][dtype]}",
    ),
    Misconception(
        "not_flat",
        "You return a tensor of more than one dimension. Codes and scales are rows.",
        shown_by=lambda formats: len(formats.packed) != 1 or len(formats.scales) != 1,
        measured="codes of shape {packed}, scales of shape {scales}",
    ),
)
LARGEST = "blocks.abs().amax(dim=1)"
CODES = "torch.bucketize(blocks / divisors, (book[1:] + book[:-1]) / 2)"
PACKED = "16 * even[0::2] + even[1::2]"
TABLE = ReferenceTable(
    quantize_nf4,
    Misconception(
        "largest_without_sign",
        "You take the largest number of a block, but its largest magnitude may belong to a negative one. Take abs() "
        "first.",
        {LARGEST: "blocks.amax(dim=1)"},
    ),
    Misconception(
        "another_number_for_largest",
        "You take another number than the largest magnitude as the scale. NF4 reaches from -1 to 1, so that number "
        "has to be mapped to an end.",
        {LARGEST: "blocks.std(dim=1)"},
        variants=[{LARGEST: "blocks.abs().mean(dim=1)"}, {LARGEST: "torch.linalg.vector_norm(blocks, dim=1)"}],
    ),
    Misconception(
        "halves_swapped",
        "You put the first of two codes into the low half of its byte. It belongs into the high half.",
        {PACKED: "16 * even[1::2] + even[0::2]"},
    ),
    Misconception(
        "halves_of_the_tensor_packed",
        "You pack a code of the first half of the tensor with one of the second. Neighbours share a byte.",
        {PACKED: "16 * even[: len(even) // 2] + even[len(even) // 2 :]"},
        variants=[{PACKED: "16 * even[len(even) // 2 :] + even[: len(even) // 2]"}],
    ),
    Misconception(
        "equal_steps",
        "You use 16 values or bins of equal size. Use the values of NF4, and the midpoints between them.",
        {"book = NF4": "book = torch.linspace(-1, 1, 16)"},
        variants=[
            {CODES: "((blocks / divisors + 1) / 2 * 15).round().long()"},
            {CODES: "torch.bucketize(blocks / divisors, torch.linspace(-1, 1, 17)[1:-1])"},
        ],
    ),
    Misconception(
        "neighbour_for_nearest",
        "You take the next code below or above each number. Take the nearest: its borders are in the middle.",
        {CODES: "(torch.searchsorted(book, blocks / divisors, right=True) - 1).clamp(0, 15)"},
        variants=[
            {CODES: "torch.searchsorted(book, blocks / divisors).clamp(max=15)"},
            {CODES: "torch.bucketize(blocks / divisors, book).clamp(max=15)"},
        ],
    ),
    Misconception(
        "not_divided",
        "You compare the numbers themselves with the code book. Divide each block by its scale.",
        {CODES: "torch.bucketize(blocks, (book[1:] + book[:-1]) / 2)"},
    ),
    Misconception(
        "divided_by_one_scale",
        "You use one number for all blocks. Divide each by its own scale, the largest magnitude in it.",
        {CODES: "torch.bucketize(blocks / divisors.max(), (book[1:] + book[:-1]) / 2)"},
        variants=[{LARGEST: "blocks.abs().amax().expand(len(blocks))"}],
    ),
    run=_run,
    cases=codes_cases,
    is_near=_is_near,
)
