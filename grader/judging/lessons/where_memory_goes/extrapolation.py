"""Judges the peak of a large model that is found from two small ones."""

from __future__ import annotations

from grader.judging.lessons.where_memory_goes.byte_counts import format_byte_count
from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.where_memory_goes.extrapolation import ExtrapolationCase, extrapolation_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

TOLERANCE = 1e-6  # a division of floats is not exact to the byte


def extrapolate(few_bytes: int, more_bytes: int, few: int, more: int, layers: int) -> float:
    """Return the peak of a model with many layers, from the peaks of two with few."""
    layer_bytes = (more_bytes - few_bytes) // (more - few)
    return few_bytes + (layers - few) * layer_bytes


# The parts of the reference that misconceptions edit.
LAYER = "(more_bytes - few_bytes) // (more - few)"
PEAK = "few_bytes + (layers - few) * layer_bytes"
FIXED = "(few_bytes - few * layer_bytes)"


def _rounded(rounding: str) -> dict[str, str]:
    """Return the edit that rounds both peaks first."""
    rounded = f"few_bytes, more_bytes = ({rounding} for peak in (few_bytes, more_bytes))"
    return {f"layer_bytes = {LAYER}": f"{rounded}; layer_bytes = (more_bytes - few_bytes) / (more - few)"}


TABLE = ReferenceTable(
    extrapolate,
    Misconception(
        "fixed_part_multiplied",
        "You scale the whole peak with the number of layers. Embeddings, head and buffers are there once: "
        "scale only what a layer adds.",
        {PEAK: "few_bytes * layers / few"},
        variants=[
            {PEAK: "more_bytes * layers / more"},
            {PEAK: "few_bytes * (layers // few)"},
            {PEAK: "more_bytes * (layers // more)"},
            {PEAK: "few_bytes * layers"},
            {PEAK: "layers * (few_bytes / few + more_bytes / more) / 2"},
            {PEAK: "layers * (few_bytes + more_bytes) / (few + more)"},
            {PEAK: f"layers * ({FIXED} + layer_bytes)"},
        ],
    ),
    Misconception(
        "difference_not_divided",
        "You take the difference of the two small models for one layer. Divide it by the layers between them.",
        {LAYER: "more_bytes - few_bytes"},
    ),
    Misconception(
        "difference_divided_by_another_number",
        "You divide the difference of the two small models by another number than more - few, the layers between them.",
        {LAYER: "(more_bytes - few_bytes) / more"},
        variants=[{LAYER: f"(more_bytes - few_bytes) / {divisor}"} for divisor in ("few", "layers", "(more + few)")],
    ),
    Misconception(
        "two_layers_assumed",
        "You take the small models to have 2 layers, or to be 2 layers apart, as for BERT-large. Use `few` and `more`.",
        {LAYER: "(more_bytes - few_bytes) / 2"},
        variants=[
            {PEAK: "few_bytes + (layers - 2) * layer_bytes"},
            {LAYER: "(more_bytes - few_bytes) / 2", PEAK: "few_bytes + (layers - 2) * layer_bytes"},
        ],
    ),
    Misconception(
        "twice_the_difference",
        "You add twice the difference, which leads from 8 blocks to 16 in the worked example. "
        "Count how many layers there are between your models.",
        {PEAK: "more_bytes + 2 * (more_bytes - few_bytes)"},
    ),
    Misconception(
        "layers_of_bert_assumed",
        "You compute the peak for 24 layers, whatever is asked for. Use `layers`.",
        {PEAK: "few_bytes + (24 - few) * layer_bytes"},
    ),
    Misconception(
        "small_model_taken_for_fixed_part",
        "You add all layers to a small model that has some already. Take its own layers away first.",
        {PEAK: "few_bytes + layers * layer_bytes"},
        variants=[{PEAK: "more_bytes + layers * layer_bytes"}],
    ),
    Misconception(
        "layers_of_the_start_miscounted",
        "You start at one of the small models, but subtract another number of layers than it has.",
        {PEAK: "more_bytes + (layers - few) * layer_bytes"},
        variants=[
            {PEAK: "few_bytes + (layers - more) * layer_bytes"},
            {PEAK: "few_bytes + (layers - 1) * layer_bytes"},
        ],
    ),
    Misconception(
        "one_layer_miscounted",
        "You count one layer too many or too few. The smaller model lacks layers - few layers.",
        {PEAK: "few_bytes + (layers - few + 1) * layer_bytes"},
        variants=[{PEAK: "few_bytes + (layers - few - 1) * layer_bytes"}],
    ),
    Misconception(
        "sign_of_a_layer_lost",
        "You let the peak fall as layers are added. Look at what you subtract from what.",
        {LAYER: "(few_bytes - more_bytes) // (more - few)"},
        variants=[{PEAK: "more_bytes - (layers - more) * layer_bytes"}],
    ),
    Misconception(
        "fixed_part_forgotten",
        "You return the layers alone. Add what a model without any layer would hold: embeddings, head and buffers.",
        {PEAK: "layers * layer_bytes"},
    ),
    Misconception(
        "added_layers_only",
        "You return the added layers alone. Add them to the peak of the model that you start from.",
        {PEAK: "(layers - few) * layer_bytes"},
        variants=[{PEAK: "(layers - more) * layer_bytes"}],
    ),
    Misconception(
        "intermediate_result_returned",
        "You return the bytes of one layer or of the fixed part. Return those of the whole model.",
        {PEAK: "layer_bytes"},
        variants=[{PEAK: FIXED}],
    ),
    Misconception(
        "fewer_layers_left_out",
        "You do not go below the smaller model. A model with fewer layers than both has a lower peak: "
        "let layers - few be negative.",
        {PEAK: "few_bytes + max(layers - few, 0) * layer_bytes"},
        variants=[{PEAK: "few_bytes + abs(layers - few) * layer_bytes"}],
    ),
    Misconception(
        "growth_by_a_factor",
        "You let the peak grow by a factor with each layer. Every layer adds the same number of bytes.",
        {PEAK: "few_bytes * (more_bytes / few_bytes) ** ((layers - few) / (more - few))"},
    ),
    Misconception(
        "answer_rounded",
        "You round the two peaks before you use them, and the error grows with the layers. Compute with every byte.",
        _rounded("round(peak / 2**20) * 2**20"),
        variants=[_rounded("peak // 2**20 * 2**20"), _rounded("round(peak / 10**6) * 10**6")],
    ),
    Misconception(
        "another_unit_for_bytes",
        "You return MiB, MB, GiB or GB. Return bytes.",
        {PEAK: f"({PEAK}) / 2**20"},
        variants=[
            {PEAK: f"({PEAK}) // 2**20"},
            {PEAK: f"round(({PEAK}) / 2**20)"},
            *({PEAK: f"({PEAK}) / {unit}"} for unit in ("10**6", "2**30", "10**9")),
        ],
    ),
    hard_coded(extrapolation_cases),
    run=lambda extrapolate, case: extrapolate(case.few_bytes, case.more_bytes, case.few, case.more, case.layers),
    cases=extrapolation_cases,
    is_near=within(relative=TOLERANCE),
)


def judge_extrapolated_peak(observation: Observation, seed: int) -> Verdict:
    """Compare every answer with the line through the two small models, and name what explains a miss."""
    cases, answer = extrapolation_cases(seed), TABLE.answer(seed, observation.facts["extrapolated_bytes"])
    if not answer.is_right:
        case: ExtrapolationCase = answer.case
        truth = format_byte_count(answer.truth)
        return TABLE.explain(
            answer,
            expected=f"{truth} for {case.layers} layers, from models with {case.few} and {case.more}",
            measured=f"{format_byte_count(answer.value)}, {answer.value / answer.truth:.4g} times that",
            otherwise="You combine the two peaks in another way than a line does. "
            "Find from them what one layer adds, and what both models share.",
        )
    for case, asked in zip(cases, observation.facts["asked_layers"], strict=True):
        if not {case.few, case.more} <= set(asked):
            return Verdict(
                "small_models_not_forecast",
                f"a forecast for {case.few} layers and one for {case.more}",
                f"forecasts for {sorted(set(asked))} layers" if asked else "no forecast",
                "You return the right peaks without a forecast of both small models. Compute them from both forecasts.",
            )
    largest = format_byte_count(TABLE.truths(seed)[0])
    measured = f"{len(cases)} models, each from two small ones; BERT-large {largest}"
    return Verdict(PASSED, f"{len(cases)} peaks to the byte", measured)
