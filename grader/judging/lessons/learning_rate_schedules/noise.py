"""Judges the noise scale of a gradient."""

from __future__ import annotations

from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable, hard_coded
from grader.lessons.learning_rate_schedules.noise import NoiseCase, noise_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def noise_scale(gradients: Tensor, rows: int) -> float:
    """Return the trace of a row's covariance over the squared norm of the gradient, both without bias."""
    batch = rows * len(gradients)
    small = gradients.square().sum(dim=1).mean()
    big = gradients.mean(dim=0).square().sum()
    signal = (batch * big - rows * small) / (batch - rows)
    noise = (small - big) / (1 / rows - 1 / batch)
    return float(noise / signal)


def judge_noise_scale(observation: Observation, seed: int) -> Verdict:
    """Compare the noise scales, in rows."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    if answer.is_right:
        return Verdict(PASSED, "", f"{len(answer.values)} noise scales right")
    case: NoiseCase = answer.case
    expected = f"{answer.truth:.5g} rows, from {case.micro_batches} gradients of {case.rows} rows each"
    measured = f"{answer.value:.5g} rows, {answer.value / answer.truth:.4g} times that"
    code, diagnosis = _explain(answer)
    return TABLE.judge(answer, expected, measured) or Verdict(code, expected, measured, diagnosis)


def _explain(answer: Answer) -> tuple[str, str]:
    pairs = list(zip(answer.values, TABLE.truths(answer.seed), strict=True))
    ratios = sorted(given / right for given, right in pairs)
    if all(given == given // 1 and abs(given - right) < 1 for given, right in pairs):
        return "rounded", "You round to whole rows. Return the estimate as it is."
    if ratios[0] < 0:
        return "negative", f"Your noise scale is negative, so either S or |G|² is. {LOOK_AT}"
    size = "too small" if ratios[-1] < 1 else "too large" if ratios[0] > 1 else "off"
    times = f"{ratios[0]:.3g} to {ratios[-1]:.3g} times the right one in the three settings"
    return "other_noise_scale", f"Your noise scale is {size}, {times}: look at S and |G|² one by one. {LOOK_AT}"


LOOK_AT = (
    "Put them back into both equations: |G|² + S / rows should be the mean squared norm of the micro-batches, "
    "|G|² + S / (m * rows) that of their mean. Norms sum over dim 1, means run over dim 0."
)
SMALL = "gradients.square().sum(dim=1).mean()"
SIGNAL = "(batch * big - rows * small) / (batch - rows)"
NOISE = "(small - big) / (1 / rows - 1 / batch)"

TABLE = ReferenceTable(
    noise_scale,
    Misconception(
        "signal_with_its_noise",
        "You take the squared norm of the mean gradient for the signal. It still holds the noise of the whole batch: "
        "solve both equations.",
        {SIGNAL: "big"},
    ),
    Misconception(
        "spread_around_the_mean_divided_by_m",
        "You divide the spread of the micro-batches around their mean by m. The mean follows them, so the spread is "
        "too small: divide by m - 1, or solve both equations.",
        {NOISE: "(small - big) * rows"},
        variants=[
            {SIGNAL: "big - (small - big) * rows / batch", NOISE: "(small - big) * rows"},
            {SIGNAL: "big", NOISE: "(small - big) * rows"},
        ],
    ),
    Misconception(
        "signal_of_one_micro_batch",
        "You take the squared norm of a micro-batch's gradient for the signal, which is mostly noise.",
        {SIGNAL: "small"},
    ),
    Misconception(
        "noise_of_a_micro_batch",
        "You return the noise of a micro-batch. A row's is as many times larger as the micro-batch has rows.",
        {NOISE: "(small - big) / (1 - rows / batch)"},
        variants=[{NOISE: "small - big"}, {SIGNAL: "big - (small - big) / batch", NOISE: "small - big"}],
    ),
    Misconception(
        "norms_not_squared",
        "You use norms, not their squares: only squares of independent parts add up.",
        {SMALL: "gradients.norm(dim=1).mean()", "gradients.mean(dim=0).square().sum()": "gradients.mean(dim=0).norm()"},
    ),
    Misconception(
        "norm_of_the_mean_norm",
        "You square the mean norm of the micro-batches. Take the mean of their squared norms.",
        {SMALL: "gradients.norm(dim=1).mean() ** 2"},
    ),
    Misconception(
        "one_micro_batch_only",
        "You use the first micro-batch alone, and throw the others away. Average over all.",
        {SMALL: "gradients[0].square().sum()"},
    ),
    Misconception(
        "batch_of_micro_batches",
        "You count micro-batches as rows. Each holds `rows` rows.",
        {"batch = rows * len(gradients)": "batch = len(gradients)"},
    ),
    Misconception(
        "mean_over_the_numbers",
        "You average over the numbers of a gradient in one of the two norms. A squared norm is a sum.",
        {SMALL: "gradients.square().mean()"},
    ),
    Misconception(
        "inverted",
        "You return the signal over the noise. The noise scale is the noise over the signal.",
        {"noise / signal": "signal / noise"},
    ),
    hard_coded(noise_cases),
    run=lambda noise_scale, case: noise_scale(case.draw(), case.rows),
    cases=noise_cases,
    is_near=within(relative=1e-3),
)
