"""Judges the exam on 8-bit optimizers."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grader.judging.edited_source import Part
from grader.judging.misconceptions import Misconception
from grader.judging.variants import FamilyJudge, variant_judges, when
from grader.lessons.adam_8bit.exam import TOPIC, MatrixCase, StateCase, matrix_cases, state_cases
from grader.variants import Options


def restore_blocks(values: Tensor, block_size: int, options: Options) -> list[float]:
    """Values after they were written as codes and read again."""
    levels = 2 ** (options["bits"] - 1) - 1
    magnitudes = torch.arange(levels + 1) / levels
    if options["spacing"] == "square":
        magnitudes = magnitudes.square()
    rows = list(values) if options["blocks"] == "rows" else [values.flatten()]
    restored: list[float] = []
    for row in rows:
        for block in row.split(block_size):
            scale = block.abs().max()
            if options["scale"] == "power of two" and scale > 0:
                scale = 2.0 ** torch.ceil(torch.log2(scale))
            shares = block.abs() / scale if scale > 0 else block.abs()
            nearest = (shares[:, None] - magnitudes).abs().argmin(dim=1)
            restored += (block.sign() * magnitudes[nearest] * scale).tolist()
    return restored


def state_bytes(shapes: list[tuple[int, ...]], block_size: int, options: Options) -> int:
    """Bytes of the state of an optimizer."""
    total = 0
    for shape in shapes:
        numbers = math.prod(shape)
        one = 4 * numbers
        if numbers >= options["threshold"]:
            blocks = math.ceil(numbers / block_size)
            if options["blocks"] == "rows":
                blocks = numbers // shape[-1] * math.ceil(shape[-1] / block_size)
            of_scales = (4 if options["scales"] == "float32" else 1) * blocks
            one = math.ceil(numbers * options["bits"] / 8) + of_scales
        total += options["moments"] * one
    return total


def _run_restored(restore: Part, case: MatrixCase, options: Options) -> list[float]:
    return list(restore(case.make_values(), case.block_size, options))


def _run_state(count: Part, case: StateCase, options: Options) -> int:
    value: int = count(list(case.shapes), case.block_size, options)
    return value


POWER = 'options["scale"] == "power of two" and scale > 0'
RESTORED = FamilyJudge(
    restore_blocks,
    (
        Misconception(
            "one_scale_for_all",
            "You use one scale for the whole matrix. Each block has its own.",
            {"row.split(block_size)": "[row]", "block.abs().max()": "values.abs().max()"},
        ),
        when(
            Misconception(
                "blocks_across_rows",
                "You let a block go on in the next row. A row ends its last block.",
                {'list(values) if options["blocks"] == "rows" else [values.flatten()]': "[values.flatten()]"},
            ),
            blocks="rows",
        ),
        when(
            Misconception(
                "blocks_end_with_rows",
                "You end a block with its row. It goes on in the next one.",
                {'list(values) if options["blocks"] == "rows" else [values.flatten()]': "list(values)"},
            ),
            blocks="flat",
        ),
        when(
            Misconception(
                "scale_not_a_power_of_two",
                "You scale by the largest magnitude. Take the smallest power of two that is not below it.",
                {POWER: "False"},
            ),
            scale="power of two",
        ),
        when(
            Misconception(
                "power_of_two_below",
                "You take the largest power of two below the largest magnitude, so that values are cut off. Take the "
                "next one above.",
                {"torch.ceil(torch.log2(scale))": "torch.floor(torch.log2(scale))"},
            ),
            scale="power of two",
        ),
        when(
            Misconception(
                "equal_distances",
                "You space the values of the code book equally. Square them.",
                {'options["spacing"] == "square"': "False"},
            ),
            spacing="square",
        ),
        when(
            Misconception(
                "rounded_before_squaring",
                "You round the root of a value and then square it. Choose the value of the book that is nearest.",
                {"(shares[:, None] - magnitudes)": "(shares[:, None].sqrt() - magnitudes.sqrt())"},
            ),
            spacing="square",
        ),
        Misconception(
            "sign_not_in_the_bits",
            "You use all bits for the magnitude. One of them is the sign.",
            {'2 ** (options["bits"] - 1) - 1': '2 ** options["bits"] - 1'},
        ),
        Misconception(
            "one_level_too_many",
            "You count a power of two of magnitudes above zero. Zero is one of the magnitudes.",
            {'2 ** (options["bits"] - 1) - 1': '2 ** (options["bits"] - 1)'},
        ),
        Misconception(
            "rounded_down",
            "You take the value of the book below. Take the nearest.",
            {
                "(shares[:, None] - magnitudes).abs().argmin(dim=1)": "torch.bucketize(shares, magnitudes, right=True)"
                " - 1"
            },
        ),
        Misconception(
            "sign_lost",
            "You return magnitudes. Give each value its sign again.",
            {"block.sign() * ": ""},
        ),
        Misconception(
            "scale_not_applied",
            "You return values of the code book. Multiply each by the scale of its block.",
            {"magnitudes[nearest] * scale": "magnitudes[nearest]"},
        ),
        Misconception(
            "largest_value_for_largest_magnitude",
            "You scale by the largest value. A block's largest magnitude may be negative.",
            {"block.abs().max()": "block.max()"},
        ),
    ),
    _run_restored,
    matrix_cases,
    lambda case: f"a matrix [{case.rows}, {case.columns}] in blocks of {case.block_size}",
    relative=1e-4,
    absolute=1e-6,
    noun="value",
)
CODES = 'math.ceil(numbers * options["bits"] / 8)'
OF_SCALES = '(4 if options["scales"] == "float32" else 1) * blocks'
SMALL_STATE = FamilyJudge(
    state_bytes,
    (
        when(
            Misconception(
                "one_moment_forgotten",
                "You count one moment. This optimizer keeps two for each parameter.",
                {'options["moments"] * one': "one"},
            ),
            moments=2,
        ),
        when(
            Misconception(
                "two_moments_counted",
                "You count two moments. This optimizer keeps one for each parameter.",
                {'options["moments"] * one': "2 * one"},
            ),
            moments=1,
        ),
        Misconception(
            "scales_forgotten",
            "You leave out the scales of the blocks.",
            {OF_SCALES: "0"},
        ),
        when(
            Misconception(
                "scales_in_float32",
                "You count 4 bytes for a scale. The contract keeps it in 8 bits.",
                {OF_SCALES: "4 * blocks"},
            ),
            scales="float8",
        ),
        when(
            Misconception(
                "scales_in_one_byte",
                "You count 1 byte for a scale. The contract keeps it in float32.",
                {OF_SCALES: "blocks"},
            ),
            scales="float32",
        ),
        Misconception(
            "eight_bits",
            "You count a byte for each code. The contract names its bits.",
            {CODES: "numbers"},
        ),
        Misconception(
            "small_parameters_in_codes",
            "You count codes for small parameters, too. Below the threshold moments stay in float32.",
            {'numbers >= options["threshold"]': "True"},
        ),
        Misconception(
            "threshold_of_bitsandbytes",
            "You use the threshold of bitsandbytes, 4,096 numbers. The contract names another.",
            {'numbers >= options["threshold"]': "numbers >= 4096"},
        ),
        Misconception(
            "threshold_not_reached",
            "You keep float32 moments where a parameter has just as many numbers as the threshold. It has codes.",
            {'numbers >= options["threshold"]': 'numbers > options["threshold"]'},
        ),
        when(
            Misconception(
                "blocks_across_rows",
                "You let a block go on in the next row. A row ends its last block, and the rest of it counts as one.",
                {'options["blocks"] == "rows"': "False"},
            ),
            blocks="rows",
        ),
        when(
            Misconception(
                "blocks_end_with_rows",
                "You end a block with its row. It goes on in the next one.",
                {'options["blocks"] == "rows"': "True"},
            ),
            blocks="flat",
        ),
        Misconception(
            "last_block_forgotten",
            "You leave out a block that is not full. It has a scale, too.",
            {"math.ceil(numbers / block_size)": "numbers // block_size"}
            | {"math.ceil(shape[-1] / block_size)": "(shape[-1] // block_size)"},
        ),
        Misconception(
            "bits_for_bytes",
            "You return bits. Divide by 8.",
            {"    return total": "    return 8 * total"},
        ),
        Misconception(
            "state_of_bitsandbytes",
            "You count the state of bitsandbytes, as in the lesson. This one differs: read each line of the contract.",
            {
                CODES: "numbers",
                'numbers >= options["threshold"]': "numbers >= 4096",
                OF_SCALES: "4 * blocks",
                'options["blocks"] == "rows"': "False",
            },
        ),
    ),
    _run_state,
    state_cases,
    lambda case: f"parameters {', '.join(map(str, map(list, case.shapes)))}, blocks of {case.block_size}",
)

__getattr__ = variant_judges(TOPIC, judge_exam_restored=RESTORED, judge_exam_small_state=SMALL_STATE)
