"""Verdict on the predicted rounds and bytes of an all-reduce."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.judging.lessons.collectives.cost_formulas import Cost, cost_of
from grader.judging.lessons.collectives.cost_slips import SLIPS, Slip
from grader.judging.lessons.collectives.cost_units import WHOLE
from grader.lessons.collectives.costs import ALGORITHMS, CostCase, cost_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen
RELATIVE_TOLERANCE = 1e-9  # a share computed as a float may round; the formulas are exact


def judge_all_reduce_costs(observation: Observation, seed: int) -> Verdict:
    """Compare every answer with the formulas, and name what explains a miss."""
    cases = cost_cases(seed)
    answers = [(float(rounds), float(size)) for rounds, size in observation.facts["predicted"]]
    wrong = [
        (case, answer) for case, answer in zip(cases, answers, strict=True) if not _are_near(answer, cost_of(case))
    ]
    if wrong:
        code, look_at, algorithm = _recognise(cases, answers)
        case, answer = next((pair for pair in wrong if pair[0].algorithm == algorithm), wrong[0])
        where = f"{case.algorithm}, {case.world_size} ranks, {case.tensor_bytes:,} bytes"
        return Verdict(code, f"{_say(cost_of(case))} for {where}", _say(answer), look_at)
    measured = f"{len(cases)} all-reduces; ring on 8 ranks {_say(cost_of(cases[3]))}"
    return Verdict(PASSED, f"rounds and bytes of {len(cases)} all-reduces", measured)


def _recognise(cases: Sequence[CostCase], answers: Sequence[Cost]) -> tuple[str, str, str]:
    """Return code, where to look, and the algorithm whose first miss is shown; "" for any."""
    for code, formula, look_at in WHOLE:
        if all(_are_near(answer, formula(case)) for case, answer in zip(cases, answers, strict=True)):
            return code, look_at, ""
    if len(set(answers)) == 1:
        return "same_for_all", "your answer is the same for all algorithms and ranks: what does it read?", ""
    for slip in _explaining(cases, answers):
        return slip.code, slip.look_at, slip.algorithm
    if all(_are_near(answer, cost_of(case)) for case, answer in zip(cost_cases(VISIBLE_SEED), answers, strict=True)):
        look_at = "numbers that are right for other ranks: what does your answer depend on?"
        return "visible_case_hard_coded", look_at, ""
    if all(_are_near(a, cost_of(c)) for c, a in zip(cases, answers, strict=True) if c.world_size == 8):
        return (
            "right_for_eight_ranks",
            "other numbers of ranks than 8: which part of your answer does not follow N?",
            "",
        )
    wrong = next(c for c, a in zip(cases, answers, strict=True) if not _are_near(a, cost_of(c)))
    return UNRECOGNISED, f"the {wrong.algorithm} on 4 ranks, on paper: who sends what to whom, round by round?", ""


def _explaining(cases: Sequence[CostCase], answers: Sequence[Cost]) -> Iterator[Slip]:
    """Yield slips that explain every miss in one number of one algorithm, in the order of the cases."""
    for algorithm in ALGORITHMS:
        own = [(c, a) for c, a in zip(cases, answers, strict=True) if c.algorithm == algorithm]
        for place, is_rounds in ((0, True), (1, False)):
            if all(_is_near(answer[place], cost_of(case)[place]) for case, answer in own):
                continue
            for slip in SLIPS:
                if slip.algorithm == algorithm and slip.is_rounds == is_rounds and _explains(slip, own):
                    yield slip


def _explains(slip: Slip, own: Sequence[tuple[CostCase, Cost]]) -> bool:
    place = 0 if slip.is_rounds else 1
    return all(
        _is_near(answer[place], slip.formula(case.world_size) * (1 if slip.is_rounds else case.tensor_bytes))
        for case, answer in own
    )


def _are_near(answer: Cost, truth: Cost) -> bool:
    return _is_near(answer[0], truth[0]) and _is_near(answer[1], truth[1])


def _is_near(answer: float, truth: float) -> bool:
    return abs(answer - truth) <= RELATIVE_TOLERANCE * abs(truth)


def _say(cost: Cost) -> str:
    return f"{cost[0]:,.6g} rounds and {cost[1]:,.10g} bytes"
