"""Judges the bits of a quantized weight, the numbers that LoRA trains, and the bytes of an update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.quantization_and_lora.plans import Layer, PlanCase, plan_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def predict_plan(layers: tuple[Layer, ...], rank: int, block_size: int, second_block_size: int | None) -> Any:
    """Return bits, trained numbers and bytes of an update."""
    bits = weights = trained = 0
    for inputs, outputs, is_adapted in layers:
        numbers = inputs * outputs
        scales = -(-numbers // block_size)
        weights += numbers
        bits += 4 * numbers
        if second_block_size is None:
            bits += 32 * scales
        else:
            bits += 8 * scales + 32 * -(-scales // second_block_size)
        if is_adapted:
            trained += rank * (inputs + outputs)
    return {"bits": bits / weights, "trained": trained, "update_bytes": 12 * trained}


def judge_quantization_plan(observation: Observation, seed: int) -> Verdict:
    """Judge bits, then trained numbers, then the bytes of an update."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    for name, unit in UNITS.items():
        part = answer.part(name)
        if not part.is_right:
            case = part.case
            expected = f"{part.truth:,.6g} {unit} ({describe(case)})"
            otherwise = _count(name, case, answer.values[part.wrong[0]])
            texts = {"expected": expected, "measured": f"{part.value:,.6g}", "otherwise": otherwise}
            return TABLE.explain(part, answer, **texts)
    return Verdict(PASSED, "", f"bits, trained numbers and bytes right for {len(answer.values)} plans")


def describe(case: PlanCase) -> str:
    """Name a case."""
    second = f", {case.second_block_size} scales a block" if case.second_block_size else ", float32 scales"
    count = f"{len(case.layers)} layer{'s' * (len(case.layers) > 1)}"
    return f"{count}, rank {case.rank}, blocks of {case.block_size}{second}"


def _run(predict: Callable[..., Any], case: PlanCase) -> Mapping[str, float]:
    answer: Mapping[str, float] = predict(case.layers, case.rank, case.block_size, case.second_block_size)
    return answer


def _count(name: str, case: PlanCase, answer: Mapping[str, float]) -> str:
    """Say by how much a number is off that no misconception explains."""
    truth = _run(predict_plan, case)
    if name == "trained":
        return OTHERWISE[name].format(answer[name] / truth[name])
    if name == "update_bytes":
        return OTHERWISE[name].format(answer[name] / truth["trained"])
    numbers = [inputs * outputs for inputs, outputs, _ in case.layers]
    more = (answer[name] - truth[name]) * sum(numbers)
    return OTHERWISE[name].format(more, more / sum(-(-count // case.block_size) for count in numbers))


OTHERWISE = {
    "bits": "You are off by {:+,.6g} bits, {:+.3g} for each block. Use both block sizes, begin a block with each layer "
    "only, do not round, and count codes and scales of all layers, but nothing else.",
    "trained": "You count {:.3g} times the numbers of both factors. Write down their shapes for one layer.",
    "update_bytes": "You count {:.3g} bytes for each trained number. Add up one gradient and two moments in float32.",
}
UNITS = {"bits": "bits a weight", "trained": "trained numbers", "update_bytes": "bytes"}
SECOND = "8 * scales + 32 * -(-scales // second_block_size)"
SCALES = "scales = -(-numbers // block_size)"
LEFT_OUT = f"if not is_adapted:\n            continue\n        {SCALES}"
WEIGHTS_OF_ALL = "sum(i * o for i, o, _ in layers)"
SHARED_BLOCKS = f"scales = -(-{WEIGHTS_OF_ALL} // block_size) / len(layers)"
SHARED_SECOND = f"8 * scales - 32 * (-{WEIGHTS_OF_ALL} // (block_size * second_block_size)) / len(layers)"
SCALES_OF_ALL = "sum(-(-i * o // block_size) for i, o, _ in layers)"
TRAINED = "trained += rank * (inputs + outputs)"
UPDATE = "12 * trained"
BITS = '"bits": bits / weights'
TABLE = ReferenceTable(
    predict_plan,
    Misconception(
        "second_level_forgotten",
        "You ignore `second_block_size`: your scales take 32 bits. With a second level a scale is one byte.",
        {SECOND: "32 * scales"},
    ),
    Misconception(
        "scales_free",
        "You count the codes alone. Each block has a scale, too.",
        {SECOND: "0", "32 * scales\n": "0\n"},
    ),
    Misconception(
        "second_scales_forgotten",
        "You count one byte for each scale, and forget the float32 number that a block of scales shares.",
        {SECOND: "8 * scales"},
    ),
    Misconception(
        "first_scales_kept",
        "You keep the float32 scales in addition to the second level. Double quantization replaces each by one byte.",
        {SECOND: "32 * scales + 8 * scales + 32 * -(-scales // second_block_size)"},
        variants=[{SECOND: f"32 * scales + {each} * -(-scales // second_block_size)"} for each in (8, 32)],
    ),
    Misconception(
        "second_level_per_weight",
        "You divide the weights by `second_block_size`. Its blocks consist of scales.",
        {SECOND: "8 * scales + 32 * -(-numbers // second_block_size)"},
    ),
    Misconception(
        "scales_in_16_bits",
        "You count 8 or 16 bits for a scale that is float32. With a second level the scales of the blocks shrink to a "
        "byte; the number that they share stays float32.",
        {SECOND: "8 * scales + 16 * -(-scales // second_block_size)", "32 * scales\n": "16 * scales\n"},
        variants=[
            {"32 * scales\n": "16 * scales\n"},
            {SECOND: SECOND.replace("32", "16")},
            {SECOND: SECOND.replace("32", "8")},
        ],
    ),
    Misconception(
        "short_block_without_scale",
        "You round the number of blocks down, or do not round it. A short block has a scale of its own.",
        {SCALES: "scales = numbers // block_size"},
        variants=[
            {SCALES: "scales = numbers / block_size"},
            {SCALES: "scales = numbers / block_size", SECOND: "8 * scales + 32 * scales / second_block_size"},
            {SECOND: "8 * scales + 32 * (scales // second_block_size)"},
            {SECOND: "8 * scales + 32 * scales / second_block_size"},
        ],
    ),
    Misconception(
        "blocks_across_layers",
        "You let a block, or a block of scales, run on from one layer into the next. Each layer begins new ones.",
        {SECOND: f"8 * scales + 32 * -(-{SCALES_OF_ALL} // second_block_size) / len(layers)"},
        variants=[{SCALES: SHARED_BLOCKS, SECOND: SHARED_SECOND}],
        same_as=("short_block_without_scale",),
    ),
    Misconception(
        "unadapted_layers_not_quantized",
        "You leave layers without an adapter out of the bits. All weights are quantized.",
        {SCALES: LEFT_OUT},
    ),
    Misconception(
        "bytes_for_bits",
        "You return bytes a weight. Return bits.",
        {BITS: '"bits": bits / weights / 8'},
    ),
    Misconception(
        "bits_of_all_weights",
        "You return the bits of all layers together. Divide by the number of their weights.",
        {BITS: '"bits": bits'},
    ),
    Misconception(
        "base_trained",
        "You count the weights of the layers as trained. LoRA trains the two factors of each adapted layer.",
        {TRAINED: "trained += inputs * outputs"},
        variants=[{TRAINED: "trained += inputs * outputs + rank * (inputs + outputs)"}],
    ),
    Misconception(
        "sides_multiplied",
        "You multiply both sides of a layer with the rank. Each factor has one of the sides: add the two.",
        {TRAINED: "trained += rank * inputs * outputs"},
    ),
    Misconception(
        "one_factor_counted",
        "You count one factor of two. One has `rank` rows of the inputs, the other `rank` columns of the outputs.",
        {TRAINED: "trained += rank * inputs"},
        variants=[{TRAINED: "trained += rank * outputs"}],
    ),
    Misconception(
        "factors_taken_for_square",
        "You count both factors with the same side. A layer need not be square: add its inputs and its outputs.",
        {TRAINED: "trained += 2 * rank * inputs"},
        variants=[{TRAINED: "trained += 2 * rank * outputs"}],
    ),
    Misconception(
        "all_layers_adapted",
        "You give every layer an adapter. The third entry of a layer says whether it has one.",
        {"if is_adapted:": "if True:"},
    ),
    Misconception(
        "moments_alone",
        "You count AdamW's two moments. The gradient is held at the step, too: 4 bytes more for each trained number.",
        {UPDATE: "8 * trained"},
    ),
    Misconception(
        "weights_in_the_update",
        "You count the trained numbers themselves. Asked for are gradients and both moments, 12 bytes.",
        {UPDATE: "16 * trained"},
    ),
    Misconception(
        "update_of_all_weights",
        "You count gradients or moments of the base. It is frozen: it has neither.",
        {UPDATE: "12 * (weights + trained)"},
        variants=[{UPDATE: f"{each} * weights + {12 - each} * trained"} for each in (4, 8)]
        + [{UPDATE: "12 * weights"}],
    ),
    hard_coded(plan_cases),
    run=_run,
    cases=plan_cases,
    is_near=within(relative=1e-9),
)
