"""Judges the predicted idle share of every stage of a pipeline, and the micro-batches that it holds."""

from __future__ import annotations

import operator
from collections.abc import Callable

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.model_and_pipeline_parallel.schedules import (
    GPIPE,
    ONE_BY_ONE,
    ONE_F_ONE_B,
    ScheduleCase,
    schedule_cases,
)
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

IDLE, IN_FLIGHT = PARTS = "idle", "in_flight"
Stages = dict[str, list[float]]


def pipeline_of(
    schedule: str, stages: int, micro_batches: int, forward: float, backward: float, head: float, stage: int
) -> tuple[float, float]:
    """Return the idle share of a stage, and the most micro-batches that it holds."""
    own = forward + backward
    last = own + head
    seconds = (stages - 1) * own + micro_batches * last
    if schedule == ONE_BY_ONE:
        seconds = micro_batches * ((stages - 1) * own + last)
    busy = micro_batches * (last if stage == stages - 1 else own)
    held = min(stages - stage, micro_batches)
    if schedule == GPIPE:
        held = micro_batches
    if schedule == ONE_BY_ONE:
        held = 1
    return 1 - busy / seconds, held


def judge_pipeline_predictions(observation: Observation, seed: int) -> Verdict:
    """Compare both numbers of every stage of every pipeline."""
    answer = TABLE.answer(seed, observation.facts["predicted"])
    for name in PARTS:
        part = answer.part(name)
        if part.is_right:
            continue
        case: ScheduleCase = part.case
        pairs = zip(part.truth, part.value, strict=True)
        stage, right, given = next(
            (n, right, given) for n, (right, given) in enumerate(pairs) if not near(given, right)
        )
        digits = 1 if f"{right:.1%}" != f"{given:.1%}" else 9
        expected = f"{_say(right, name, digits)} on stage {stage} of {case.stages}, {_describe(case)}"
        measured = _say(given, name, digits)
        return TABLE.explain(answer, part, expected=expected, measured=measured, otherwise=OTHERWISE[name])
    numbers = sum(len(value[IDLE]) for value in answer.values)
    return Verdict(PASSED, "", f"{numbers} stages of {len(answer.values)} pipelines")


def _say(number: float, name: str, digits: int) -> str:
    if name == IDLE:
        return f"{number:.{digits}%} idle"
    return f"{number:g} micro-batch{'' if number == 1 else 'es'} in flight"


def _describe(case: ScheduleCase) -> str:
    seconds = f"forward {case.forward:g} s, backward {case.backward:g} s, head {case.head:g} s"
    return f'schedule "{case.schedule}", {case.micro_batches} micro-batches, {seconds}'


def _run(pipeline_of: Callable[..., tuple[float, float]], case: ScheduleCase) -> Stages:
    arguments = (case.schedule, case.stages, case.micro_batches, case.forward, case.backward, case.head)
    pairs = [pipeline_of(*arguments, stage) for stage in range(case.stages)]
    return {IDLE: [idle for idle, _ in pairs], IN_FLIGHT: [held for _, held in pairs]}


def _is_wrong_only(answer: Answer, is_one: Callable[[ScheduleCase], bool]) -> bool:
    cases = answer.table.reference.cases(answer.seed)
    return answer.key == IDLE and all(is_one(cases[index]) for index in answer.wrong)


def _step_ratio(given: float, right: float) -> float:
    return round((1 - right) / (1 - given), 6) if given < 1 else 0.0


OTHERWISE = {
    IDLE: "Your idle share is wrong. Draw one row for each stage and one box for each forward and backward, then add "
    "up when the last box ends, and how much of that time the row is filled.",
    IN_FLIGHT: "Your number of micro-batches is wrong. Follow one row of your drawing, and count the micro-batches "
    "whose forward has run and whose backward has not.",
}
near = within(relative=1e-6, absolute=1e-9)
SHARE = "1 - busy / seconds, held"
OWN, LAST = "own = forward + backward", "last = own + head"
SECONDS = "seconds = (stages - 1) * own + micro_batches * last"
EACH = "seconds = micro_batches * ((stages - 1) * own + last)"
BUSY = "(last if stage == stages - 1 else own)"
HELD = "min(stages - stage, micro_batches)"
TABLE = ReferenceTable(
    pipeline_of,
    Misconception(
        "swapped",
        "You return the micro-batches first. Return the idle share, then the micro-batches in flight.",
        {SHARE: "held, 1 - busy / seconds"},
    ),
    Misconception(
        "busy_for_idle",
        "You return the share of the time in which the stage computes. Idle is the rest of it.",
        {SHARE: "busy / seconds, held"},
    ),
    Misconception(
        "idle_over_busy",
        "You divide the idle time by the time in which the stage computes. Some papers call that the bubble; the "
        "contract asks for the share of the whole step.",
        {SHARE: "(seconds - busy) / busy, held"},
        variants=[{SHARE: "(stages - 1) / micro_batches, held"}],
    ),
    Misconception(
        "idle_seconds",
        "You return idle seconds. Divide them by the seconds of the step.",
        {SHARE: "seconds - busy, held"},
    ),
    Misconception(
        "percent",
        "You return a percentage. A share is between 0 and 1.",
        {SHARE: "100 * (1 - busy / seconds), held"},
    ),
    Misconception(
        "share_rounded",
        "You round the idle share. Return it as it is.",
        {SHARE: "round(1 - busy / seconds, 2), held"},
        variants=[{SHARE: "round(1 - busy / seconds, 3), held"}, {SHARE: "round(1 - busy / seconds, 4), held"}],
    ),
    Misconception(
        "stages_taken_for_equal",
        "You take all stages for equal, so that `head` does not matter. Only the last stage has the output layer, and "
        "the other stages wait while it runs.",
        {LAST: "last = own"},
        variants=[
            {OWN: "own = forward + backward + head", LAST: "last = own"},
            {SHARE: "(stages - 1) / (micro_batches + stages - 1), held"},
            {SHARE: f"((stages - 1) / stages if schedule == {ONE_BY_ONE!r} else 1 - busy / seconds), held"},
            {BUSY: "own", SECONDS: "seconds = (stages - 1 + micro_batches) * own"},
            {EACH: "seconds = micro_batches * stages * own"},
        ],
    ),
    Misconception(
        "head_on_every_stage",
        "You count `head` on stages that do not have it. Only the last stage runs the output layer: before its first "
        "pass and after its last one come the passes of ordinary stages.",
        {SECONDS: "seconds = (stages - 1 + micro_batches) * last"},
        variants=[
            {EACH: "seconds = micro_batches * stages * last"},
            {SECONDS: "seconds = (stages - 1 + micro_batches) * last", EACH: "seconds = micro_batches * stages * last"},
        ],
    ),
    Misconception(
        "head_counted_once",
        "You count the output layer once. It runs for every micro-batch.",
        {
            SECONDS: "seconds = (stages - 1 + micro_batches) * own + head",
            EACH: "seconds = micro_batches * stages * own + head",
            BUSY: "own + (head if stage == stages - 1 else 0)",
        },
        variants=[{SECONDS: "seconds = (stages - 1 + micro_batches) * own + head"}],
    ),
    Misconception(
        "stages_instead_of_gaps",
        "You let the first micro-batch pass one stage too many. While it goes from the first to the last stage, it "
        "passes `stages - 1` others.",
        {SECONDS: "seconds = stages * own + micro_batches * last"},
        variants=[{SHARE: "stages / (micro_batches + stages), held"}],
    ),
    Misconception(
        "bubble_of_forward_only",
        "You count the wait for forwards and leave out the one for backwards. The gradients have to come back through "
        "all stages, too.",
        {SECONDS: "seconds = (stages - 1) * forward + micro_batches * last"},
    ),
    Misconception(
        "one_by_one_overlapped",
        "You let stages work side by side where the micro-batches go one by one. There only one stage computes at any "
        "time.",
        {EACH: "seconds = (stages - 1) * own + micro_batches * last"},
        variants=[{SHARE: f"(0 if schedule == {ONE_BY_ONE!r} else 1 - busy / seconds), held"}],
    ),
    Misconception(
        "first_wait_only",
        "You count only the wait before a stage's first pass, or only the one after its last. A stage waits in both "
        "places, and the step takes equally long on all stages.",
        {SHARE: "stage * own / seconds, held"},
        variants=[
            {SHARE: "stage * forward / seconds, held"},
            {SECONDS: "seconds = stage * own + micro_batches * last"},
            {SECONDS: "seconds = (stages - 1 - stage) * own + micro_batches * last"},
        ],
    ),
    Misconception(
        "smaller_bubble_in_1f1b",
        "You give 1F1B a smaller bubble than GPipe. Its stages wait as long: it saves memory, not time.",
        {SECONDS: f"seconds = (stages - 1) * own / (1 if schedule == {GPIPE!r} else 2) + micro_batches * last"},
        variants=[
            {SECONDS: f"seconds = (stages - 1) * own * (schedule == {GPIPE!r}) + micro_batches * last"},
            {SECONDS: f"seconds = (stages - 1) * (own if schedule == {GPIPE!r} else forward) + micro_batches * last"},
        ],
    ),
    Misconception(
        "gpipe_for_1f1b",
        "You let 1F1B hold all micro-batches, as GPipe does. A stage of 1F1B frees one with each backward, long before "
        "the last forward.",
        {HELD: "micro_batches"},
    ),
    Misconception(
        "same_held_on_every_stage",
        "You let every stage of 1F1B hold as many micro-batches as the first one. The last stage runs each one "
        "backward at once: count from the end.",
        {HELD: "min(stages, micro_batches)"},
        variants=[{HELD: "stages"}],
    ),
    Misconception(
        "more_held_than_there_are",
        "You let a stage hold more micro-batches than the step has. Look at pipelines with few micro-batches.",
        {HELD: "stages - stage"},
    ),
    Misconception(
        "counted_from_the_first_stage",
        "You count the stages of 1F1B from the wrong end. The first stage waits longest for a gradient, so it holds "
        "the most.",
        {HELD: "min(stage + 1, micro_batches)"},
        variants=[{HELD: "stage + 1"}, {HELD: "min(stage, micro_batches)"}],
    ),
    Misconception(
        "one_forward_left_out",
        "You count the forwards before the first pair of 1F1B only. The forward of that pair runs before its backward, "
        "so one more is held.",
        {HELD: "min(stages - stage - 1, micro_batches)"},
        variants=[{HELD: "stages - stage - 1"}],
    ),
    Misconception(
        "same_share_for_every_stage",
        "You return one idle share for all stages. The last one computes longer than the others in the same step: "
        "subtract what the stage itself does.",
        shown_by=lambda answer: (
            _is_wrong_only(answer, lambda case: case.head > 0)
            and all(near(one, shares[0]) for shares in map(answer.part_of, answer.values) for one in shares)
        ),
    ),
    Misconception(
        "wrong_with_few_micro_batches",
        "You are wrong only where there are fewer micro-batches than stages. Nothing is special there: the first "
        "micro-batch passes all stages, forward and back.",
        shown_by=lambda answer: _is_wrong_only(answer, lambda case: case.micro_batches < case.stages),
    ),
    Misconception(
        "step_of_another_length",
        "You get the length of the step wrong: too short where your share is too small. Count it from the first box of "
        "any row of your drawing to the last one; the other stages wait for the slowest one.",
        shown_by=lambda answer: answer.key == IDLE and len(set(map(_step_ratio, answer.value, answer.truth))) == 1,
    ),
    Misconception(
        "wrong_with_an_output_layer",
        "You are right for four equal stages, and wrong with an output layer. It runs on the last stage only, once for "
        "each micro-batch, and the other stages wait for it.",
        shown_by=lambda answer: _is_wrong_only(answer, lambda case: case.head > 0),
    ),
    Misconception(
        "wrong_without_1f1b",
        'You hold another number in "{case.schedule}". One by one finishes each micro-batch before the next begins, '
        "GPipe runs all forwards before the first backward, whatever the stages are.",
        shown_by=lambda answer: answer.key == IN_FLIGHT and answer.case.schedule != ONE_F_ONE_B,
    ),
    Misconception(
        "too_many_in_1f1b",
        "You count more micro-batches in 1F1B than a stage holds at once. From its first backward on, it runs one "
        "forward for each backward: count the forwards before.",
        shown_by=lambda answer: answer.key == IN_FLIGHT and all(map(operator.ge, answer.value, answer.truth)),
    ),
    Misconception(
        "too_few_in_1f1b",
        "You count fewer micro-batches in 1F1B than a stage holds at once. The last stage holds one, and each earlier "
        "stage one more, until it holds all.",
        shown_by=lambda answer: answer.key == IN_FLIGHT and all(map(operator.le, answer.value, answer.truth)),
    ),
    run=_run,
    cases=schedule_cases,
    is_near=near,
)
