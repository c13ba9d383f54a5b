"""Judges the predicted all-reduces of one update, and their bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.data_parallel.calls import AROUND_BOTH, NOWHERE, CallsCase, calls_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

CALLS, BYTES = PARTS = "all-reduces", "bytes"
TOLERANCE = 1e-6  # a learner may divide bytes

Update = dict[str, float]


def all_reduces_of(parameters: Sequence[Tensor], bucket_bytes: int, k: int, no_sync: str) -> Update:
    """Return the all-reduces that DistributedDataParallel makes for one update, and their bytes."""
    buckets, held, gradient_bytes = 0, 0, 0
    for parameter in reversed(parameters):
        if not parameter.requires_grad:
            continue
        tensor_bytes = parameter.numel() * parameter.element_size()
        buckets += held == 0
        held += tensor_bytes
        held = 0 if held >= bucket_bytes else held
        gradient_bytes += tensor_bytes
    backwards = 1 if no_sync == AROUND_BOTH else k
    return {"all-reduces": buckets * backwards, "bytes": gradient_bytes * backwards}


# The parts of the reference that misconceptions edit.
ORDER = "reversed(parameters)"
FROZEN = "        if not parameter.requires_grad:\n            continue\n"
OPENED = "buckets += held == 0"
CLOSED = "held = 0 if held >= bucket_bytes else held"
SIZE = "parameter.numel() * parameter.element_size()"
BACKWARDS = "1 if no_sync == AROUND_BOTH else k"
BUCKETS = "buckets * backwards"
SUM = "gradient_bytes * backwards"

OTHERWISE = {
    CALLS: "Your number of all-reduces is wrong. List the buckets of one backward, then count how many of the "
    "backwards of the update synchronise.",
    BYTES: "Your number of bytes is wrong. Add up the bytes of all trained gradients, then count how many of the "
    "backwards of the update synchronise.",
}


def judge_data_parallel_calls(observation: Observation, seed: int) -> Verdict:
    """Compare the two numbers of every update with those of DistributedDataParallel."""
    predicted = observation.facts["predicted"]
    answer = TABLE.answer(seed, [{CALLS: float(calls), BYTES: float(size)} for calls, size in predicted])
    for name in PARTS:
        part = answer.part(name)
        if part.is_right:
            continue
        expected = f"{_say(part.truth, name)} for {_describe(part.case)}"
        measured = _say(part.value, name)
        return TABLE.explain(answer, part, expected=expected, measured=measured, otherwise=OTHERWISE[name])
    return Verdict(PASSED, "", f"{len(predicted)} updates, each with its all-reduces and its bytes")


def _say(number: float, name: str) -> str:
    return f"{number:,.10g} {name.removesuffix('s') if number == 1 else name}"


def _describe(case: CallsCase) -> str:
    sizes = ", ".join(f"{parameter.nbytes:,}" for parameter in case.make_parameters())
    frozen = f" ({len(case.frozen)} frozen)" if case.frozen else ""
    return f"tensors of {sizes} bytes{frozen}, buckets of {case.bucket_bytes:,}, k = {case.k}, no_sync {case.no_sync}"


def _run(all_reduces_of: Callable[..., Update], case: CallsCase) -> Update:
    return all_reduces_of(case.make_parameters(), case.bucket_bytes, case.k, case.no_sync)


TABLE = ReferenceTable(
    all_reduces_of,
    Misconception(
        "swapped",
        "You return the bytes first. Return the number of all-reduces, then the bytes.",
        {BUCKETS: SUM, SUM: BUCKETS},
    ),
    Misconception(
        "buckets_and_switch_left_out",
        "You count one all-reduce per tensor and backward, as a loop without DistributedDataParallel makes. Fill "
        "buckets with the gradients, and see what no_sync switches off.",
        {OPENED: "buckets += 1", BACKWARDS: "k"},
    ),
    Misconception(
        "one_pass_over_the_parameters",
        "You count what one pass over all parameters makes, as in average_after_backward of the lesson. "
        "DistributedDataParallel fills buckets, skips frozen parameters and synchronises in several backwards.",
        {OPENED: "buckets += 1", FROZEN: "", BACKWARDS: "1"},
    ),
    Misconception(
        "buckets_filled_forwards",
        "You fill the buckets from the first parameter on, but gradients are ready from the last parameter to the "
        "first. Look at the order of your loop.",
        {ORDER: "parameters"},
    ),
    Misconception(
        "bytes_over_bucket",
        "You divide all bytes by bucket_bytes, but a tensor is never cut, so a bucket may hold more than that. "
        "Go through the tensors one by one.",
        {BUCKETS: "-(-gradient_bytes // bucket_bytes) * backwards"},
        variants=[{BUCKETS: "max(1, gradient_bytes // bucket_bytes) * backwards"}],
    ),
    Misconception(
        "bucket_never_overfilled",
        "You close a bucket before a tensor that does not fit. It takes that tensor too, and is closed once it holds "
        "at least bucket_bytes.",
        {
            OPENED: "is_new = not held or held + tensor_bytes > bucket_bytes; buckets += is_new",
            "held += tensor_bytes": "held = tensor_bytes + (0 if is_new else held)",
            CLOSED: "held = held",
        },
    ),
    Misconception(
        "bucket_closed_beyond",
        "You keep a bucket open when it holds exactly bucket_bytes. It is closed as soon as it holds at least that "
        "much: look at your comparison.",
        {CLOSED: "held = 0 if held > bucket_bytes else held"},
    ),
    Misconception(
        "last_bucket_left_out",
        "You count a bucket only when it is full. The gradients left over at the end of backward are all-reduced too.",
        {OPENED: "buckets += held + tensor_bytes >= bucket_bytes"},
    ),
    Misconception(
        "one_bucket_too_many",
        "You count a last bucket in any case. If the last gradient closed its bucket, none is left over.",
        {OPENED: "buckets += held + tensor_bytes >= bucket_bytes", BUCKETS: "(buckets + 1) * backwards"},
    ),
    Misconception(
        "one_for_each_tensor",
        "You count one all-reduce per tensor, but several gradients share a bucket. Look at bucket_bytes.",
        {OPENED: "buckets += 1"},
    ),
    Misconception(
        "one_bucket",
        "You count one bucket. It is closed as soon as it holds bucket_bytes, which is a number of bytes.",
        {OPENED: "buckets = 1"},
    ),
    Misconception(
        "frozen_counted",
        "You count frozen parameters, but they have no gradient and take no room in a bucket. "
        "Look at what requires_grad says.",
        {FROZEN: ""},
    ),
    Misconception(
        "stops_at_frozen",
        "You stop at the first frozen parameter, but there are gradients behind it. Use continue, not break.",
        {"            continue\n": "            break\n"},
    ),
    Misconception(
        "frozen_closes_bucket",
        "You end the open bucket at a frozen parameter. It has no gradient, so the bucket stays open for the next "
        "gradient.",
        {"            continue\n": "            held = 0; continue\n"},
        variants=[
            {
                "            continue\n": "            held = 0; continue\n",
                OPENED: "buckets += held + tensor_bytes >= bucket_bytes",
                BUCKETS: "(buckets + (held > 0)) * backwards",
            }
        ],
    ),
    Misconception(
        "elements_for_bytes",
        "You count the numbers of a tensor, not its bytes. Multiply numel() by element_size().",
        {SIZE: "parameter.numel()"},
    ),
    Misconception(
        "four_bytes_assumed",
        "You take 4 bytes for each number, but 16-bit parameters have 16-bit gradients. Use element_size().",
        {SIZE: "parameter.numel() * 4"},
        variants=[{"held += tensor_bytes": "held += 4 * parameter.numel()"}],
    ),
    Misconception(
        "backward_alone_believed",
        "You let no_sync around backward alone save all-reduces, but the forward decides: it has prepared its backward "
        "to synchronise already.",
        {BACKWARDS: f"k if no_sync == {NOWHERE!r} else 1"},
    ),
    Misconception(
        "accumulation_left_out",
        "You count what one backward sends. An update has k backwards, and each of them synchronises unless its "
        "forward was inside no_sync.",
        {BACKWARDS: "1"},
    ),
    Misconception(
        "no_sync_left_out",
        "You count all k backwards even if no_sync is around forward and backward. Then only the last micro-batch "
        "synchronises.",
        {BACKWARDS: "k"},
    ),
    Misconception(
        "both_silences_all",
        "You count no all-reduce if no_sync is around forward and backward. It is there for all micro-batches but the "
        "last, which synchronises.",
        {BACKWARDS: "0 if no_sync == AROUND_BOTH else k"},
    ),
    Misconception(
        "quiet_ones_counted",
        "You count the k - 1 micro-batches inside no_sync. Those are the silent ones: only the last one synchronises.",
        {BACKWARDS: "k - 1 if no_sync == AROUND_BOTH else k"},
    ),
    Misconception(
        "backward_alone_silences_one",
        "You leave one backward out if no_sync is around backward alone. The forward decides, so all k synchronise.",
        {BACKWARDS: f"1 if no_sync == AROUND_BOTH else k - (no_sync != {NOWHERE!r})"},
    ),
    Misconception(
        "bytes_twice",
        "You count the bytes twice, as a ring of ranks sends them. Count what a rank puts into the all-reduces.",
        {SUM: "2 * gradient_bytes * backwards"},
    ),
    Misconception(
        "full_buckets_assumed",
        "You take every bucket for exactly full, but buckets hold more or less than bucket_bytes. Add up the bytes of "
        "the gradients.",
        {SUM: "buckets * bucket_bytes * backwards"},
    ),
    Misconception(
        "bytes_of_last_bucket_left_out",
        "You add up the bytes of the buckets that were closed as full, and leave out those of the last one. "
        "Its gradients are all-reduced too.",
        {SUM: "(gradient_bytes - held) * backwards"},
    ),
    Misconception(
        "bytes_divided_by_k",
        "You divide the bytes by k, but accumulation makes no gradient smaller: every all-reduce has whole gradients.",
        {SUM: "gradient_bytes * backwards / k"},
        variants=[
            {SUM: "gradient_bytes * backwards // k"},
            {SUM: "gradient_bytes / k if no_sync == AROUND_BOTH else gradient_bytes * k"},
            {SUM: "gradient_bytes // k if no_sync == AROUND_BOTH else gradient_bytes * k"},
        ],
    ),
    hard_coded(calls_cases),
    run=_run,
    cases=calls_cases,
    is_near=within(relative=TOLERANCE),
)
