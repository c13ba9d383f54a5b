"""Judges the predicted bytes that a rank holds, and those that it sends for one update."""

from __future__ import annotations

from collections.abc import Callable

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.sharding.jobs import ShardingJob, sharding_jobs
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

HELD, SENT = PARTS = "held", "sent"
TOLERANCE = 1e-6  # a learner may divide in another order

Bytes = dict[str, float]


def bytes_by_stage(parameters: int, ranks: int, stage: int, state_bytes: int, k: int) -> Bytes:
    """Return the bytes of a rank: held all the time, and sent for one update of k micro-batches."""
    weights = 2 * parameters / (ranks if stage >= 3 else 1)
    gradients = 2 * parameters / (ranks if stage >= 2 else 1)
    states = state_bytes * parameters / (ranks if stage >= 1 else 1)
    passes = {0: 2, 1: 2, 2: k + 1, 3: 3 * k}[stage]
    one_pass = 2 * parameters * (ranks - 1) / ranks
    return {"held": weights + gradients + states, "sent": passes * one_pass}


WEIGHTS, GRADIENTS, STATES = "stage >= 3", "stage >= 2", "stage >= 1"
ALL_WEIGHTS = "weights = 2 * parameters"
ALL_GRADIENTS = "gradients = 2 * parameters"
STATE = "states = state_bytes * parameters"
PASSES = "{0: 2, 1: 2, 2: k + 1, 3: 3 * k}"
ONE_PASS = "2 * parameters * (ranks - 1) / ranks"
RESULT = '"held": weights + gradients + states, "sent": passes * one_pass'

OTHERWISE = {
    HELD: "Your bytes held are wrong. Write weights, gradients and states under each other, and divide those that "
    "this stage shards.",
    SENT: "Your bytes sent are wrong. List the all-gathers and reduce-scatters of one update, then what a rank sends "
    "in each.",
}


def judge_sharding_bytes(observation: Observation, seed: int) -> Verdict:
    """Compare both numbers of every job with the accounting of the ZeRO paper."""
    predicted = observation.facts["predicted"]
    answer = TABLE.answer(seed, [{HELD: float(held), SENT: float(sent)} for held, sent in predicted])
    for name in PARTS:
        part = answer.part(name)
        if part.is_right:
            continue
        job = part.case
        about = f"{job.parameters:,} parameters, {job.ranks} ranks, stage {job.stage}, {job.state_bytes} bytes of state"
        expected = f"{_say(part.truth)} bytes {name} ({about}, k = {job.k})"
        measured = f"{_say(part.value)} bytes"
        return TABLE.explain(answer, part, expected=expected, measured=measured, otherwise=OTHERWISE[name])
    return Verdict(PASSED, "", f"{len(predicted)} jobs, each with its bytes held and sent")


def _say(number: float) -> str:
    return f"{number:,.3f}".rstrip("0").rstrip(".")


def _run(bytes_by_stage: Callable[..., Bytes], job: ShardingJob) -> Bytes:
    return bytes_by_stage(job.parameters, job.ranks, job.stage, job.state_bytes, job.k)


TABLE = ReferenceTable(
    bytes_by_stage,
    Misconception(
        "swapped",
        "You return the bytes sent first. Return those held, then those sent.",
        {RESULT: '"held": passes * one_pass, "sent": weights + gradients + states'},
    ),
    Misconception(
        "plain_data_parallel",
        "You compute plain data parallel for every stage. Look at what each stage gives to one rank only.",
        {WEIGHTS: "stage >= 9", GRADIENTS: "stage >= 9", STATES: "stage >= 9", PASSES: "{stage: 2}"},
    ),
    Misconception(
        "estimate_of_the_library",
        "You hold what DeepSpeed's estimators count: float32 gradients too, and whole 16-bit ones at stage 2. "
        "Count what the contract names.",
        {
            RESULT: '"held": 4 * parameters + 16 * parameters / ranks if stage == 2 else 18 * parameters / ranks, '
            '"sent": passes * one_pass'
        },
        variants=[
            {
                RESULT: '"held": 4 * parameters + (4 + state_bytes) * parameters / ranks if stage == 2 '
                'else weights + gradients + states, "sent": passes * one_pass'
            }
        ],
    ),
    Misconception(
        "everything_divided",
        "You divide all bytes by the ranks at every stage from 1 on. Only stage 3 shards all three: see which one each "
        "stage adds.",
        {WEIGHTS: "stage >= 1", GRADIENTS: "stage >= 1"},
        variants=[{WEIGHTS: "stage >= 0", GRADIENTS: "stage >= 0", STATES: "stage >= 0"}],
    ),
    Misconception(
        "stages_too_early",
        "You shard one thing too many at each stage, as if counting from 0. Stage 0 is plain data parallel and shards "
        "nothing.",
        {WEIGHTS: "stage >= 2", GRADIENTS: "stage >= 1", STATES: "stage >= 0"},
        variants=[{WEIGHTS: "stage >= 2", GRADIENTS: "stage >= 1"}],
    ),
    Misconception(
        "states_kept_whole",
        "You leave the optimizer states whole. They are what stage 1 shards first: look at their share of the bytes.",
        {STATES: "stage >= 9"},
    ),
    Misconception(
        "only_the_new_part_divided",
        "You leave whole what a lower stage shards already. Each stage includes the stages before it.",
        {WEIGHTS: "stage == 3", GRADIENTS: "stage == 2", STATES: "stage == 1"},
        variants=[{STATES: "1 <= stage <= 2"}],
    ),
    Misconception(
        "gradients_divided_at_stage_1",
        "You divide the gradients at stage 1. There each rank still holds a whole gradient: stage 2 frees it.",
        {GRADIENTS: "stage >= 1"},
    ),
    Misconception(
        "gradients_kept_whole",
        "You leave the gradients whole at stage 2 and 3. A rank keeps only those of its own share from stage 2 on.",
        {GRADIENTS: "stage >= 9"},
        variants=[{GRADIENTS: "stage >= 3"}],
    ),
    Misconception(
        "weights_divided_early",
        "You divide the weights before stage 3. Until then forward finds all of them on each rank.",
        {WEIGHTS: "stage >= 2"},
    ),
    Misconception(
        "weights_kept_whole",
        "You leave the weights whole at stage 3. Between two uses a rank holds only its share of them.",
        {WEIGHTS: "stage >= 9"},
    ),
    Misconception(
        "float32_weights",
        "You take 4 bytes for weights or gradients. Both are 16-bit here; the float32 copy is part of state_bytes.",
        {ALL_WEIGHTS: "weights = 4 * parameters", ALL_GRADIENTS: "gradients = 4 * parameters"},
        variants=[
            {ALL_WEIGHTS: "weights = 4 * parameters"},
            {ALL_GRADIENTS: "gradients = 4 * parameters"},
            {
                ALL_WEIGHTS: "weights = 4 * parameters",
                ALL_GRADIENTS: "gradients = 4 * parameters",
                ONE_PASS: "4 * parameters * (ranks - 1) / ranks",
            },
            {ONE_PASS: "4 * parameters * (ranks - 1) / ranks"},
        ],
    ),
    Misconception(
        "twelve_bytes_assumed",
        "You take 12 bytes of state for every optimizer. Use state_bytes.",
        {STATE: "states = 12 * parameters"},
        variants=[{STATE: "states = 8 * parameters"}],
    ),
    Misconception(
        "master_weights_added",
        "You add bytes to the states. state_bytes is all of the state, float32 weights included.",
        {STATE: "states = (state_bytes + 4) * parameters"},
        variants=[{STATE: "states = (state_bytes + 12) * parameters"}],
    ),
    Misconception(
        "master_weights_whole",
        "You leave the float32 weights whole. They are part of the states, which stage 1 shards.",
        {STATE: "states = (4 * (ranks - 1 if stage else 0) + state_bytes) * parameters"},
    ),
    Misconception(
        "volume_of_the_paper",
        "You count whole passes, as the paper's 2, 2, 3 times do. In a ring a rank keeps its own share: it sends "
        "(N - 1) / N of the bytes.",
        {ONE_PASS: "2 * parameters"},
        variants=[{ONE_PASS: "2 * parameters", PASSES: "{0: 2, 1: 2, 2: 2, 3: 3}"}],
    ),
    Misconception(
        "all_reduce_counted_once",
        "You count an all-reduce as one pass. It is a reduce-scatter and then an all-gather.",
        {PASSES: "{0: 1, 1: 2, 2: k + 1, 3: 3 * k}"},
        variants=[{PASSES: "{0: 1, 1: 1, 2: k, 3: 3 * k}"}],
    ),
    Misconception(
        "all_gather_added_to_all_reduce",
        "You count too many passes at stage 1 or 2. A reduce-scatter is half of an all-reduce, and the one all-gather "
        "sends 16-bit weights.",
        {PASSES: "{0: 2, 1: 3, 2: 2 * k + 1, 3: 3 * k}"},
        variants=[
            {PASSES: "{0: 2, 1: 3, 2: k + 2, 3: 3 * k}"},
            {PASSES: "{0: 2, 1: 3, 2: 3, 3: 3}"},
            {PASSES: "{0: 2, 1: 3, 2: 3, 3: 3 * k}"},
            {PASSES: "{0: 2, 1: 3, 2: k + 1, 3: 3 * k}"},
            {PASSES: "{0: 2, 1: 2, 2: 2 * k + 1, 3: 3 * k}"},
        ],
    ),
    Misconception(
        "gathered_once",
        "You gather the weights once per micro-batch at stage 3. They are freed after forward, so backward gathers "
        "them again.",
        {PASSES: "{0: 2, 1: 2, 2: k + 1, 3: 2 * k}"},
        variants=[{PASSES: "{0: 2, 1: 2, 2: k + 1, 3: k + 1}"}],
    ),
    Misconception(
        "micro_batches_left_out",
        "You leave k out. A rank that keeps only a share of the gradients cannot add up whole ones, so it sends in "
        "each backward.",
        {PASSES: "{0: 2, 1: 2, 2: 2, 3: 3}"},
        variants=[
            {PASSES: "{0: 2, 1: 2, 2: 2, 3: 3 * k}"},
            {PASSES: "{0: 2, 1: 2, 2: 2, 3: 2 * k + 1}"},
            {PASSES: "{0: 2, 1: 2, 2: k + 1, 3: 3}"},
        ],
    ),
    Misconception(
        "sent_for_each_micro_batch",
        "You send gradients in each micro-batch at stage 0 or 1. There a rank holds the whole gradient, adds up k of "
        "them, and sends once.",
        {PASSES: "{0: 2 * k, 1: 2 * k, 2: 2 * k, 3: 3 * k}"},
        variants=[
            {PASSES: "{0: 2 * k, 1: k + 1, 2: k + 1, 3: 3 * k}"},
            {PASSES: "{0: k + 1, 1: k + 1, 2: k + 1, 3: 3 * k}"},
            {PASSES: "{0: 2, 1: k + 1, 2: k + 1, 3: 3 * k}"},
            {PASSES: "{0: 2 * k, 1: 2, 2: k + 1, 3: 3 * k}"},
        ],
    ),
    Misconception(
        "weights_gathered_each_time",
        "You gather the weights in each micro-batch of stage 2. They change at the step, so one all-gather per update "
        "is enough.",
        {PASSES: "{0: 2, 1: 2, 2: 2 * k, 3: 3 * k}"},
    ),
    Misconception(
        "gradients_reduced_once_at_stage_3",
        "You reduce the gradients of stage 3 once per update. There is no room for whole ones, so each micro-batch "
        "has a reduce-scatter.",
        {PASSES: "{0: 2, 1: 2, 2: k + 1, 3: 2 * k + 1}"},
    ),
    Misconception(
        "weights_gathered_once_per_update",
        "You gather the weights of stage 3 for one micro-batch. They are freed after each layer, so every micro-batch "
        "gathers them twice.",
        {PASSES: "{0: 2, 1: 2, 2: k + 1, 3: k + 2}"},
    ),
    Misconception(
        "gathered_after_the_step",
        "You add an all-gather after the step at stage 3. There the next forward gathers the new weights.",
        {PASSES: "{0: 2, 1: 2, 2: k + 1, 3: 3 * k + 1}"},
    ),
    Misconception(
        "put_in_counted",
        "You count what a rank puts into the collectives. In a ring it sends N - 1 shares in both of them.",
        {
            RESULT: '"held": weights + gradients + states, "sent": 2 * parameters * (k if stage >= 2 else 1) '
            "+ 2 * parameters / ranks * (2 * k if stage == 3 else 1)"
        },
    ),
    Misconception(
        "not_in_bytes",
        "You return GB, GiB or another unit. Return bytes.",
        {RESULT: '"held": (weights + gradients + states) / 1e9, "sent": passes * one_pass / 1e9'},
        variants=[{RESULT: '"held": (weights + gradients + states) / 2**30, "sent": passes * one_pass / 2**30'}],
    ),
    Misconception(
        "shares_rounded",
        "You round a share. Return exact numbers, although a rank cannot hold a part of a byte: divide with /.",
        {ALL_WEIGHTS: f"parameters = -(-parameters // ranks) * ranks; {ALL_WEIGHTS}"},
        variants=[
            {ALL_WEIGHTS: f"parameters = parameters // ranks * ranks; {ALL_WEIGHTS}"},
            {RESULT: '"held": weights // 1 + gradients // 1 + states // 1, "sent": passes * one_pass // 1'},
            {RESULT: '"held": round(weights + gradients + states), "sent": round(passes * one_pass)'},
            {RESULT: '"held": int(weights + gradients + states), "sent": int(passes * one_pass)'},
        ],
    ),
    Misconception(
        "elements_sent",
        "You count the numbers that are sent, not their bytes. Each has 2 bytes.",
        {ONE_PASS: "parameters * (ranks - 1) / ranks"},
    ),
    Misconception(
        "sent_by_all_ranks",
        "You count what all ranks send together. Count one rank.",
        {ONE_PASS: "2 * parameters * (ranks - 1)"},
    ),
    hard_coded(sharding_jobs),
    run=_run,
    cases=sharding_jobs,
    is_near=within(relative=TOLERANCE),
)
