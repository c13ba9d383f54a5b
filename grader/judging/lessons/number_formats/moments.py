"""Judges whether a second moment decays in a narrow format, and stochastic rounding."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.judging.lessons.number_formats.number_text import exact_text
from grader.judging.misconceptions import Misconception
from grader.judging.references import Answer, ReferenceTable, hard_coded
from grader.lessons.number_formats.moments import FATES, StochasticCase, moment_cases, stochastic_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def fate_of_moment(beta2: float, mantissa_bits: int) -> str:
    """Return what happens to a second moment that is multiplied by beta2 and rounded, again and again."""
    lost = 1 - beta2
    half_spacing = 2.0 ** -(mantissa_bits + 1)
    if 2 * lost <= half_spacing:
        return "frozen"
    if lost < half_spacing:
        return "stalls"
    return "decays"


# The parts of the reference that misconceptions edit.
HALF = "half_spacing = 2.0 ** -(mantissa_bits + 1)"
FREEZES = "2 * lost <= half_spacing"
STALLS = "lost < half_spacing"

FATE = ReferenceTable(
    fate_of_moment,
    Misconception(
        "one_fate_for_all",
        "You return one word for every setting. Compare what one update takes away with half of the spacing.",
        {HALF: 'return "frozen"; half_spacing = 0'},
        variants=[{HALF: f'return "{fate}"; half_spacing = 0'} for fate in FATES[1:]],
    ),
    Misconception(
        "whole_spacing",
        "You compare the loss with a whole spacing. Rounding takes the nearest number, so half a spacing decides.",
        {HALF: "half_spacing = 2.0**-mantissa_bits"},
        variants=[{HALF: "half_spacing = 2.0**-mantissa_bits", STALLS: "False", FREEZES: "lost <= half_spacing"}],
    ),
    Misconception(
        "decays_never",
        'You never answer "decays". With a smaller beta2 an update takes away more than half a spacing from every '
        "number.",
        {'return "decays"': 'return "stalls"'},
    ),
    Misconception(
        "beta2_ignored",
        "You decide by the format alone. The same format lets a moment decay with a smaller beta2.",
        variants=[
            {HALF: f'return "frozen" if mantissa_bits <= {bits} else "{other}"; half_spacing = 0'}
            for bits in (7, 8)
            for other in ("decays", "stalls")
        ],
    ),
    Misconception(
        "spacing_too_fine",
        "You compare with a quarter of the spacing or less. From one power of two to the next there are "
        "2**mantissa_bits steps, and half a step decides.",
        {HALF: "half_spacing = 2.0 ** -(mantissa_bits + 2)"},
    ),
    Misconception(
        "spacing_at_one_only",
        "You look at the spacing next to 1 only, and never find that a moment stalls. Just below 2 the spacing is the "
        "same, and an update takes away twice as much.",
        {STALLS: "False", FREEZES: "lost <= half_spacing"},
    ),
    Misconception(
        "beta2_rounded",
        "You test whether beta2 itself becomes 1 in the format, or look at numbers just below 2 only, and never find "
        "that a moment stalls. Test a number just above 1, too.",
        {STALLS: "False"},
    ),
    Misconception(
        "stalled_taken_for_frozen",
        'You never answer "frozen", or exchange it with "stalls". Test whether the number with the largest mantissa '
        "still falls.",
        {FREEZES: "False"},
        variants=[{'"stalls"': '"frozen"', 'return "frozen"': 'return "stalls"'}],
    ),
    Misconception(
        "answers_reversed",
        'You exchange "frozen" and "decays". A small loss is rounded away, and the moment stays.',
        {'return "frozen"': 'return "decays"', 'return "decays"': 'return "frozen"'},
    ),
    Misconception(
        "bf16_assumed",
        "You use the spacing of bf16 for every format. Use `mantissa_bits`.",
        {HALF: "half_spacing = 2.0**-8"},
        variants=[{HALF: "half_spacing = 2.0**-8", STALLS: "False"}],
    ),
    hard_coded(moment_cases),
    run=lambda fate_of_moment, case: fate_of_moment(case.beta2, case.mantissa_bits),
    cases=moment_cases,
)


def judge_moment_fate(observation: Observation, seed: int) -> Verdict:
    """Compare every word, and name what explains the wrong ones."""
    answers = observation.facts["answers"]
    if not set(answers) <= set(FATES):
        raise ValueError(f"a word that is none of {', '.join(FATES)}")
    answer = FATE.answer(seed, answers)
    if answer.is_right:
        return Verdict(PASSED, "", f"{len(answers)} settings")
    case = answer.case
    return FATE.explain(
        answer,
        expected=f'"{answer.truth}" for beta2 {case.beta2:.6g} and {case.mantissa_bits} mantissa bits',
        measured=f'"{answer.value}"; {len(answer.wrong)} of {len(answers)} words are wrong',
        otherwise="You decide by another rule. Between 1 and 2, compare what one update takes away with half a "
        "spacing: at the smallest mantissa and at the largest.",
    )


def round_stochastically(values: Tensor, noise: Tensor) -> Tensor:
    """Round to bf16: away from zero with the probability of the share that truncation would drop."""
    bits = values.view(torch.int32)
    kept = bits & -65536
    share = (bits - kept) / 65536
    is_up = noise < share
    return (kept + 65536 * is_up).int().view(torch.float32).bfloat16()


def _are_neighbours(answer: Answer) -> bool:
    """Return whether every value is one of the two numbers of bf16 around it."""
    for case, rounded in zip(stochastic_cases(answer.seed), answer.values, strict=True):
        values, noise = case.make_tensors()
        nearer, farther = (round_stochastically(values, torch.full_like(noise, one)) for one in (1.0, 0.0))
        if not bool(((rounded == nearer) | (rounded == farther)).all()):
            return False
    return True


IS_UP = "is_up = noise < share"
SHARE = "share = (bits - kept) / 65536"

STOCHASTIC = ReferenceTable(
    round_stochastically,
    Misconception(
        "rounded_to_nearest",
        "You round to the nearest number, whatever the random number is. Let `noise` decide between the neighbours.",
        {IS_UP: "is_up = share > 0.5"},
    ),
    Misconception(
        "truncated",
        "You always take the neighbour that is nearer to zero. Let `noise` decide between the two neighbours.",
        {IS_UP: "is_up = share < 0"},
    ),
    Misconception(
        "noise_reversed",
        "You round away from zero where the random number is large. The contract rounds so where noise < share: "
        "compare the share itself, not 1 - share.",
        {IS_UP: "is_up = noise >= 1 - share"},
        variants=[{IS_UP: "is_up = noise > share"}, {IS_UP: "is_up = (noise > share) & (share > 0)"}],
    ),
    Misconception(
        "coin_tossed",
        "You choose both neighbours with one half each, so the mean is wrong. Compare `noise` with the share.",
        {IS_UP: "is_up = (noise < 0.5) & (share > 0)"},
        variants=[{IS_UP: "is_up = noise < 0.5"}],
    ),
    Misconception(
        "share_by_sign",
        "You measure the share from the lower neighbour, which for a negative value is the one farther from zero. "
        "Measure it from the neighbour nearer to zero.",
        {IS_UP: "is_up = torch.where(values < 0, noise >= 1 - share, noise < share) & (share > 0)"},
    ),
    Misconception(
        "share_not_divided",
        "You compare the random number with the distance itself. Divide it by the spacing at the value.",
        {SHARE: "share = (values - kept.view(torch.float32)).abs()"},
    ),
    Misconception(
        "sign_lost",
        "You lose the sign of negative values. Round the magnitude, and put the sign back.",
        {"bits = values.view(torch.int32)": "bits = values.abs().view(torch.int32)"},
    ),
    Misconception(
        "other_neighbour",
        "You return one of the two neighbours of each value, but not always the one that `noise` asks for: the one "
        "farther from zero where noise < share.",
        shown_by=_are_neighbours,
    ),
    Misconception(
        "no_neighbour",
        "You return numbers that are no neighbours of the value in bf16. It keeps 7 mantissa bits, so the spacing is "
        "2**-7 of the power of two at or below the value.",
        shown_by=lambda answer: not answer.is_right,
    ),
    run=lambda round_stochastically, case: round_stochastically(*case.make_tensors()),
    cases=stochastic_cases,
)


def judge_stochastic_rounding(observation: Observation, seed: int) -> Verdict:
    """Compare every rounded value, and name what explains the wrong ones."""
    cases = stochastic_cases(seed)
    rounded = [observation.tensors[str(index)] for index in range(len(cases))]
    if any(one.dtype != torch.bfloat16 or one.shape != case.shape for one, case in zip(rounded, cases, strict=True)):
        raise ValueError("no tensor in bf16 for each case")
    answer = STOCHASTIC.answer(seed, rounded)
    if answer.is_right:
        return Verdict(
            PASSED, "", f"{sum(one.numel() for one in rounded)} values, each to the neighbour that noise asks"
        )
    case: StochasticCase = answer.case
    value, noise = (tensor.flatten() for tensor in case.make_tensors())
    wrong = (answer.value != answer.truth).flatten().nonzero().flatten()
    first = int(wrong[0])
    return STOCHASTIC.explain(
        answer,
        expected=f"{case.what}: {exact_text(float(value[first]))} with noise {float(noise[first]):.4f} becomes "
        f"{exact_text(float(answer.truth.flatten()[first]))}",
        measured=f"{exact_text(float(answer.value.flatten()[first]))}; {len(wrong)} of {value.numel()} are wrong",
        otherwise="You round in another way. Take one value, and find its two neighbours and its share by hand.",
    )
