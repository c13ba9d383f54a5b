"""Judges the predicted bytes that backward needs of an attention.

The truth is the formula, not a meter: which kernel runs, and so what it saves, depends on the device, the number format
and the mask. A test holds the formula against the meter where the CPU's kernels save what the exercise defines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable, hard_coded
from grader.lessons.attention.saved import SavedCase, saved_cases
from grader.observation import Observation
from grader.units import MIB
from grader.verdict import PASSED, Verdict

TOLERANCE = 1e-6  # the bytes are exact; a quotient may be a float


def saved_bytes(is_fused: bool, rows: int, heads: int, time: int, head_dim: int, number_bytes: int) -> float:
    """Return the bytes that autograd keeps."""
    tensor = rows * heads * time * head_dim * number_bytes
    statistic = rows * heads * time * 4
    matrix = rows * heads * time * time * number_bytes
    fused = 4 * tensor + statistic
    eager = 3 * tensor + matrix
    return fused if is_fused else eager


def judge_attention_bytes(observation: Observation, seed: int) -> Verdict:
    """Compare every prediction with the formula."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    if answer.is_right:
        return Verdict(PASSED, "", f"the bytes of {len(answer.values)} attentions right")
    case: SavedCase = answer.case
    kind = "fused" if case.is_fused else "eager"
    shape = f"{case.rows} x {case.heads} x {case.time} x {case.head_dim}, {case.number_bytes} bytes a number"
    expected = f"{answer.truth:,} bytes for {kind} attention, {shape}"
    measured = f"{answer.value:,.15g} bytes, {answer.value / answer.truth:.7g} times as many"
    same_form = [index for index, other in enumerate(saved_cases(seed)) if other.is_fused == case.is_fused]
    form = replace(answer, indices=same_form)
    verdict = TABLE.judge(answer, expected, measured) or TABLE.judge(form, expected, measured)
    return verdict or Verdict(*_otherwise(answer, expected, measured))


def _otherwise(answer: Answer, expected: str, measured: str) -> tuple[str, str, str, str]:
    case, cases = answer.case, saved_cases(answer.seed)
    truths = answer.table.truths(answer.seed)
    factors = {f"{value / truth:.6g}" for value, truth in zip(answer.values, truths, strict=True)}
    if len(factors) == 1 and factors != {"0"}:
        look_at = f"You return {factors.pop()} times the right bytes for both forms and every shape, so you count the "
        return "same_factor", expected, measured, f"{look_at}right tensors. Look for this factor."
    if all(cases[index].time < cases[index].head_dim for index in answer.wrong):
        look_at = "You are wrong only where a sequence has fewer positions than a head has features. The formula is "
        return "short_sequences_only", expected, measured, f"{look_at}the same at any length: look for a min or a max."
    excess = answer.value - answer.truth
    tensor = case.rows * case.heads * case.time * case.head_dim * case.number_bytes
    look_at = f"You count {abs(excess):,.15g} bytes too {'many' if excess > 0 else 'few'}: as many as "
    look_at += f"{abs(excess) / tensor:.4g} times the query, or {abs(excess) * case.head_dim / tensor / case.time:.4g} "
    look_at += "times the weights, take. Look for a tensor, or a part of one, of that size in your list."
    return "other_tensors_counted", expected, measured, look_at


def _run(saved: Callable[..., float], case: SavedCase) -> float:
    return saved(case.is_fused, case.rows, case.heads, case.time, case.head_dim, case.number_bytes)


RETURN = "return fused if is_fused else eager"
EAGER, FUSED = "eager = 3 * tensor + matrix", "fused = 4 * tensor + statistic"
MATRIX = "matrix = rows * heads * time * time * number_bytes"
STATISTIC = "statistic = rows * heads * time * 4"

TABLE = ReferenceTable(
    saved_bytes,
    Misconception(
        "mebibytes_for_bytes",
        "You return MiB, but bytes are asked for. Look at the last division.",
        {RETURN: f"return (fused if is_fused else eager) / {MIB}"},
    ),
    Misconception(
        "elements_for_bytes",
        "You count numbers, not bytes. Multiply each tensor by the bytes of its numbers.",
        {
            "head_dim * number_bytes": "head_dim",
            MATRIX: "matrix = rows * heads * time * time",
            STATISTIC: "statistic = rows * heads * time",
        },
    ),
    Misconception(
        "same_for_both",
        "You return the eager bytes for both forms. Look at which tensor the fused form never holds.",
        {RETURN: "return eager"},
    ),
    Misconception(
        "fused_keeps_the_matrix",
        "You let the fused form keep the matrix of weights. It keeps one number for each row of that matrix instead.",
        {FUSED: "fused = 4 * tensor + matrix"},
        variants=[
            {FUSED: "fused = 4 * tensor + statistic + matrix"},
            {FUSED: "fused = 3 * tensor + matrix + statistic"},
        ],
    ),
    Misconception(
        "scores_kept_too",
        "You count more than one matrix. Scaling keeps nothing, softmax keeps its result, and the second product needs "
        "that same tensor.",
        {EAGER: "eager = 3 * tensor + 2 * matrix"},
        variants=[{EAGER: "eager = 4 * tensor + 2 * matrix"}, {EAGER: "eager = 3 * tensor + 3 * matrix"}],
    ),
    Misconception(
        "output_kept_by_eager",
        "You let the eager form keep its output, or a logsumexp. Backward of a product needs its two factors, and "
        "softmax its result: nothing else is kept.",
        {EAGER: "eager = 4 * tensor + matrix"},
        variants=[{EAGER: "eager = 3 * tensor + matrix + statistic"}],
    ),
    Misconception(
        "matrix_forgotten",
        "You leave out the matrix of weights. Softmax and the second product both need it in backward.",
        {EAGER: "eager = 3 * tensor"},
        variants=[{EAGER: "eager = 4 * tensor"}],
    ),
    Misconception(
        "one_matrix_for_all_heads",
        "You count one matrix of weights for all heads. Each head has its own.",
        {MATRIX: "matrix = rows * time * time * number_bytes"},
        variants=[{MATRIX: "matrix = time * time * number_bytes"}],
    ),
    Misconception(
        "inputs_forgotten",
        "You leave out query, key and value. Autograd keeps them, too: backward needs all three.",
        {EAGER: "eager = matrix", FUSED: "fused = tensor + statistic"},
        variants=[{EAGER: "eager = matrix"}, {FUSED: "fused = tensor + statistic"}],
    ),
    Misconception(
        "output_forgotten",
        "You leave out the output. The fused backward starts with the product of the output and its gradient.",
        {FUSED: "fused = 3 * tensor + statistic"},
    ),
    Misconception(
        "logsumexp_forgotten",
        "You leave out the logsumexp: one number for each query of each head.",
        {FUSED: "fused = 4 * tensor"},
        variants=[{FUSED: "fused = 3 * tensor"}],
    ),
    Misconception(
        "logsumexp_in_16_bits",
        "You count the logsumexp in the format of the query. It is float32, whatever that format is.",
        {STATISTIC: "statistic = rows * heads * time * number_bytes"},
    ),
    Misconception(
        "two_statistics",
        "You keep the highest score and the sum of each query. One number, the logsumexp, is enough for both.",
        {FUSED: "fused = 4 * tensor + 2 * statistic"},
    ),
    Misconception(
        "too_few_logsumexps",
        "You count too few logsumexps. Each query of each head of each row has one.",
        {STATISTIC: "statistic = rows * time * 4"},
        variants=[{STATISTIC: "statistic = time * 4"}, {STATISTIC: "statistic = rows * heads * 4"}],
    ),
    Misconception(
        "logsumexp_with_features",
        "You give the logsumexp the shape of the query. It is a single number for each query.",
        {FUSED: "fused = 5 * tensor"},
        variants=[{FUSED: "fused = 4 * tensor + head_dim * statistic"}],
    ),
    Misconception(
        "always_four_bytes",
        "You count 4 bytes for numbers that have the format of the query: only the logsumexp is always float32. Look "
        "at number_bytes.",
        {
            "head_dim * number_bytes": "head_dim * 4",
            MATRIX: "matrix = rows * heads * time * time * 4",
        },
        variants=[{MATRIX: "matrix = rows * heads * time * time * 4"}],
    ),
    Misconception(
        "forms_swapped",
        "You swap the two forms. `is_fused` asks for SDPA, which keeps no matrix.",
        {RETURN: "return eager if is_fused else fused"},
    ),
    Misconception(
        "rows_forgotten",
        "You leave the rows of the batch out of a product. Each row has tensors of its own: look at rows.",
        {MATRIX: "matrix = heads * time * time * number_bytes"},
        variants=[{RETURN: "return (fused if is_fused else eager) // rows"}],
    ),
    Misconception(
        "head_dim_shared_by_the_heads",
        "You count head_dim features for all heads together. Each head has so many of its own.",
        {"tensor = rows * heads * time": "tensor = rows * time"},
    ),
    hard_coded(saved_cases),
    run=_run,
    cases=saved_cases,
    is_near=within(relative=TOLERANCE),
)
