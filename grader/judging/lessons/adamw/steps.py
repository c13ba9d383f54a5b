"""Judges Adam and AdamW written by hand by the weights after each of 20 steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch

from grader.judging.edited_source import Source
from grader.judging.kept import keep_cases
from grader.judging.lessons.adamw.step_effects import GRADIENTS, STATE_AND_OPTIONS, judge_effects
from grader.judging.lessons.adamw.step_misconceptions import DECAY, DECAYED, MOMENTS, MOVED, SHARES, adamw_step
from grader.judging.misconceptions import Misconception
from grader.judging.references import VISIBLE_SEED, Answer, ReferenceTable, Version
from grader.judging.step_paths import say_movement
from grader.judging.trajectories import (
    StepFunction,
    Trajectory,
    find_miss,
    follows_within,
    never_move,
    take_steps,
)
from grader.lessons.adamw.updates import adam_cases, adamw_cases
from grader.observation import Observation
from grader.testbed.optimizer_steps import STEPS, UpdateCase
from grader.verdict import PASSED, Verdict

# Two float32 runs of the same 20 steps differ by about 3e-6 of their movement; the smallest misconception by 1e-3.
TOLERANCE = 1e-4


def judge_adam_updates(observation: Observation, seed: int) -> Verdict:
    """Judge Adam's update of single tensors."""
    return _judge(observation, seed, ADAM, "torch.optim.Adam")


def judge_adamw_steps(observation: Observation, seed: int) -> Verdict:
    """Judge AdamW's step over groups, with decay and with missing gradients."""
    return _judge(observation, seed, ADAMW, "torch.optim.AdamW")


def _judge(observation: Observation, seed: int, table: ReferenceTable, name: str) -> Verdict:
    cases, settings = table.reference.cases(seed), observation.facts["settings"]
    verdict = judge_effects(GRADIENTS, cases, settings)
    verdict = verdict or _judge_weights(table.answer(seed, _read(cases, observation)), name)
    verdict = verdict or judge_effects(STATE_AND_OPTIONS, cases, settings)
    if verdict:
        return verdict
    tensors = sum(len(case.shapes) for case in cases)
    measured = f"{tensors} tensors that follow {name} for {STEPS} steps, each with a state of two moments"
    return Verdict(PASSED, f"the steps of {name}", measured)


def _read(cases: Sequence[UpdateCase], observation: Observation) -> list[Trajectory]:
    """Return the weights before the first step, and the recorded ones after each."""
    return [
        [
            torch.cat([start.flatten()[None], observation.tensors[f"{number}.{index}"]])
            for index, start in enumerate(case.make_weights())
        ]
        for number, case in enumerate(cases)
    ]


def _judge_weights(answer: Answer, name: str) -> Verdict | None:
    wrong = [index for index in answer.wrong if not answer.only(index).is_by(_running_shares(answer.table))]
    if not wrong:
        return None
    part = answer.only(wrong[0])
    case, seen, wanted = part.case, part.value, part.truth
    step, index = find_miss(seen, wanted, TOLERANCE) or (0, 0)
    otherwise = f"Your steps before step {step} are right. Look at what is kept, counted or changed by then."
    if step == 1:
        otherwise = "Your first step is wrong already. Compute it by hand for one number: both moments begin at zero."
    return answer.table.explain(
        answer,
        part,
        expected=f"after step {step}, the weights of {name} ({case.describe(index, step)})",
        measured=say_movement(seen[index][step], wanted[index][step], wanted[index][0]),
        otherwise=otherwise,
    )


@keep_cases
def _running_shares(table: ReferenceTable) -> Version:
    """Return AdamW with shares of 1 minus the product of all betas so far: as right, where a schedule changes them."""
    source, left = (
        Source([adamw_step]),
        'state["left"] = [a * b for a, b in zip(state.get("left", (1, 1)), (beta1, beta2))]',
    )
    running = source.compile("running shares", {SHARES: f'{left}; share1, share2 = (1 - one for one in state["left"])'})
    return replace(table.reference, part=partial(source.load, running))


def _run(step: StepFunction, case: UpdateCase) -> Trajectory:
    return take_steps(step, case, STEPS, torch.float64)


def _with_visible_options(cases: Callable[[int], Sequence[UpdateCase]]) -> Callable[[int], Sequence[UpdateCase]]:
    """Return cases with the options of those that a notebook shows."""

    def mixed(seed: int) -> Sequence[UpdateCase]:
        return [
            replace(case, **{name: getattr(shown, name) for name in ("betas", "eps", "decays")})
            for case, shown in zip(cases(seed), cases(VISIBLE_SEED), strict=True)
        ]

    return mixed


def _make_table(cases: Callable[[int], Sequence[UpdateCase]], *misconceptions: Misconception[Answer]) -> ReferenceTable:
    return ReferenceTable(
        adamw_step,
        Misconception(
            "weight_not_changed",
            "You leave every weight as it was. Change the weight in place, with -= or sub_(): `weight = ...` only "
            "gives a name to a new tensor.",
            shown_by=lambda answer: all(never_move(answer.values[index]) for index in answer.indices),
            measured="weights that never move",
        ),
        *misconceptions,
        Misconception(
            "visible_case_hard_coded",
            "You use options that are right for the tensors of the notebook, and wrong for others. Read each option "
            "where your function receives it.",
            on=_with_visible_options(cases),
        ),
        run=_run,
        cases=cases,
        is_near=follows_within(TOLERANCE),
    )


DECAY_ADDED = Misconception[Answer](
    "decay_added",
    "You decay the weight, as AdamW does. Adam's update has no decay.",
    {DECAYED: "weight.mul_(1 - lr * 0.01)"},
    variants=[{DECAYED: "pass", MOVED: f"{MOVED}; weight.mul_(1 - lr * 0.01)"}],
)
ADAM = _make_table(adam_cases, *MOMENTS, DECAY_ADDED)
ADAMW = _make_table(adamw_cases, *MOMENTS, *DECAY)
