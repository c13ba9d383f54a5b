"""Judges the model FLOPs utilization of published runs."""

from __future__ import annotations

from collections.abc import Callable

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.where_time_goes.utilization import PublishedRun, published_runs
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def utilization(
    parameters: float,
    layers: int,
    width: int,
    time: int,
    tokens_per_second: float,
    devices: int,
    datasheet: float,
    is_sparse: bool,
    is_checkpointed: bool,
) -> float:
    """Return the share of the devices' dense peak rate that the model's own FLOPs use."""
    flops_per_token = 6 * parameters + 12 * layers * width * time
    peak = devices * datasheet
    dense = peak / 2 if is_sparse else peak
    return flops_per_token * tokens_per_second / dense


def judge_utilization(observation: Observation, seed: int) -> Verdict:
    """Compare the utilization of three runs."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    if answer.is_right:
        return Verdict(PASSED, "", f"the utilization of {len(answer.values)} runs right")
    run: PublishedRun = answer.case
    token_flops = 6 * run.parameters + 12 * run.layers * run.width * run.time
    expected = f"{answer.truth:.4f}, for {run.parameters:.4g} parameters on {run.devices} devices: {token_flops:.4g} "
    expected += (
        f"FLOPs for each token, at a dense peak of {token_flops * run.tokens_per_second / answer.truth:.4g} FLOP/s"
    )
    measured = f"{answer.value:.4g}, {answer.value / answer.truth:.4g} times that"
    otherwise = (
        "You differ by a unit, or in the peak. Print the peak of this run, and compare it with the expected one."
    )
    return TABLE.explain(answer, expected=expected, measured=measured, otherwise=otherwise)


def _run(utilization: Callable[..., float], run: PublishedRun) -> float:
    return utilization(*run.arguments)


def _ratio(answer: Answer, run: int) -> float:
    ratio: float = answer.values[run] / answer.table.truths(answer.seed)[run]
    return ratio


FLOPS = "6 * parameters + 12 * layers * width * time"
PALM = "(6 * 540.35e9 + 12 * 118 * 12_288 * 2048) * 238_300 / (6144 * 275e12)"
DENSE = "peak / 2 if is_sparse else peak"
SHARE = "flops_per_token * tokens_per_second / dense"

TABLE = ReferenceTable(
    utilization,
    Misconception(
        "attention_left_out",
        "You use 6 FLOPs for each parameter and leave out attention, which has no parameters. Add its share.",
        {FLOPS: "6 * parameters"},
    ),
    Misconception(
        "attention_of_the_forward_pass",
        "You count attention's forward pass alone. Backward takes twice as much again: 12, where forward has 4.",
        {FLOPS: "6 * parameters + 4 * layers * width * time"},
    ),
    Misconception(
        "half_of_attention",
        "You count half of attention: one of its two products, or the causal half of both. All scores of a sequence "
        "count here.",
        {FLOPS: "6 * parameters + 6 * layers * width * time"},
    ),
    Misconception(
        "factors_of_attention",
        "You count attention with other factors than 12, `layers`, `width` and `time`. In each layer, a token meets "
        "`time` positions, each with `width` features.",
        {FLOPS: "6 * parameters + 12 * layers * width"},
        variants=[
            {FLOPS: f"6 * parameters + 12 * {factors}"}
            for factors in ("width * time", "layers * width**2", "layers * time**2", "2 * layers * width * time")
        ],
    ),
    Misconception(
        "percent_returned",
        "You return per cent, or round. The contract asks for a share, such as 0.46, with all of its digits.",
        {"tokens_per_second / dense": "tokens_per_second / dense * 100"},
        variants=[{f"return {SHARE}": f"return round({SHARE}, {digits})"} for digits in (2, 3, 4)],
    ),
    Misconception(
        "forward_of_the_parameters",
        "You count 2 FLOPs for each parameter, which is the forward pass. Training takes 6.",
        {FLOPS: "2 * parameters + 12 * layers * width * time"},
        variants=[{FLOPS: "2 * parameters + 4 * layers * width * time"}],
    ),
    Misconception(
        "sparse_rate_used",
        "You divide by a rate that assumes sparsity, as datasheets print it, or by twice that. Dense products reach "
        "half of it at most.",
        {DENSE: "peak"},
        variants=[{DENSE: "peak * 2 if is_sparse else peak"}],
    ),
    Misconception(
        "dense_rate_halved",
        "You halve a rate that is dense already. Look at `is_sparse`.",
        {DENSE: "peak / 2"},
        variants=[{DENSE: "peak if is_sparse else peak / 2"}],
    ),
    Misconception(
        "recomputation_counted",
        "You let `is_checkpointed` change the result. Counting the repeated forward pass gives *hardware* FLOPs "
        "utilization: MFU counts what the model needs, so that recomputing earns nothing.",
        {FLOPS: "(6 * parameters + 12 * layers * width * time) * (4 / 3 if is_checkpointed else 1)"},
        variants=[
            {FLOPS: "(8 if is_checkpointed else 6) * parameters + 12 * layers * width * time"},
            {FLOPS: "6 * parameters + (16 if is_checkpointed else 12) * layers * width * time"},
            {FLOPS: "(6 * parameters + 12 * layers * width * time) * (3 / 4 if is_checkpointed else 1)"},
        ],
    ),
    Misconception(
        "one_device_counted",
        "You do not divide the rate of all devices by the peak of all. Multiply the peak of one by `devices`.",
        {"devices * datasheet": "datasheet"},
        variants=[{"devices * datasheet": "datasheet / devices"}],
    ),
    Misconception(
        "tokens_taken_for_sequences",
        "You multiply or divide tokens per second by `time`. The FLOPs are those of a token, and so is the rate.",
        {"* tokens_per_second": "* tokens_per_second * time"},
        variants=[{"* tokens_per_second": "* tokens_per_second / time"}],
    ),
    Misconception(
        "visible_case_hard_coded",
        "You return the utilization of the run in the notebook, whatever the arguments are. "
        "Use what your function receives.",
        {f"return {SHARE}": f"return {PALM}"},
    ),
    Misconception(
        "other_flops_of_a_token",
        "You are wrong by another factor in each run, so neither a unit nor the peak explains it. Print the FLOPs of a "
        "token: you count something else than 6 for each parameter and all of attention, forward and backward.",
        shown_by=lambda answer: abs(_ratio(answer, 0) / _ratio(answer, 1) - 1) > 1e-6,
    ),
    run=_run,
    cases=published_runs,
    is_near=within(relative=1e-6),
)
