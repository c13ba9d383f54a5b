"""Judges an optimizer whose state streams: its weights, what crosses the link, and the peak."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.judging.budget import claimed_peak_bytes
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.offloading.states import StreamedCase, adamw_update, streamed_cases, streamed_peak_case
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

STATE_BYTES = 8  # two float32 moments
CHUNKS = 8  # of float32 numbers on the device above weights and gradients; the solution has 3
TOLERANCE = 1e-5  # weights of size 1 move by about 0.01 an update, and round to 6e-8


def stream_state(case: StreamedCase, update: Callable[..., None]) -> Tensor:
    """Return the weights after all updates, in one vector."""
    weights, counts = case.make_weights(), [0] * len(case.shapes)
    state: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}
    for number in range(case.updates):
        for index, gradient in enumerate(case.make_gradients(number)):
            if gradient is None:
                continue
            counts[index] += 1
            flat, slope = weights[index].flatten().clone(), gradient.flatten()
            for start in range(0, len(flat), case.chunk):
                weight = flat[start : start + case.chunk]
                key = (index, start)
                first, second = state.get(key, (torch.zeros_like(weight), torch.zeros_like(weight)))
                update(weight, slope[start : start + case.chunk], first, second, counts[index])
                state[key] = (first, second)
            weights[index] = flat
    return torch.cat([weight.flatten() for weight in weights])


KEPT = "state[key] = (first, second)"
FETCHED = "first, second = state.get(key, (torch.zeros_like(weight), torch.zeros_like(weight)))"
COPIED = "first, second = (one.clone() for one in state.get(key, (torch.zeros_like(weight),) * 2))"
COUNT = "counts[index] += 1"
ABSENT = "continue"
CALL = "first, second, counts[index])"
EQUAL = "the weights of AdamW whose state stays on the device"


def judge_streamed_weights(observation: Observation, seed: int) -> Verdict:
    """Compare the weights after the last update with those of a step whose state stays."""
    seen = [observation.tensors[f"{index}.weights"] for index in range(len(streamed_cases(seed)))]
    answer = TABLE.answer(seed, seen)
    if answer.is_right:
        return Verdict(
            PASSED, EQUAL, f"the same weights after {sum(one.updates for one in streamed_cases(seed))} updates"
        )
    case = answer.case
    if not bool(answer.value.isfinite().all()):
        measured = "NaN or infinity in the weights"
    else:
        measured = f"weights off by up to {float((answer.value - answer.truth).abs().max()):.2g}"
    expected = f"{EQUAL} ({case.updates} updates in chunks of {case.chunk})"
    wrong = ~torch.isclose(answer.value.double(), answer.truth.double(), rtol=TOLERANCE, atol=TOLERANCE)
    per = [int(part.sum()) for part in torch.split(wrong, case.numbers)]
    index, first = next(index for index, count in enumerate(per) if count), int(wrong.nonzero()[0])
    start = (first - sum(case.numbers[:index])) // case.chunk * case.chunk
    otherwise = (
        f"You update {per[index]} of the {case.numbers[index]} numbers of parameter {index} otherwise. Follow its "
        f"chunk from number {start} on through two updates: what is fetched, updated and put?"
    )
    return TABLE.explain(
        answer, answer.only(answer.wrong[0]), expected=expected, measured=measured, otherwise=otherwise
    )


@dataclass(frozen=True)
class Update:
    """What one update did.

    Attributes:
        row: Bytes sent, fetched and held in far memory, and the sizes of the chunks.
        chunk: Numbers of a chunk.
        wanted_sizes: Sizes of chunks, in order of size.
        state_bytes: Bytes of the state that this update changes.
        known_bytes: Those of them that an earlier update has made.
        all_bytes: Bytes of the state of all parameters updated so far.
    """

    row: Mapping[str, Any]
    chunk: int
    wanted_sizes: tuple[int, ...]
    state_bytes: int
    known_bytes: int
    all_bytes: int

    @property
    def count(self) -> int:
        """How many chunks are to be updated."""
        return len(self.wanted_sizes)

    @property
    def sizes(self) -> str:
        """Sizes of the chunks that were updated, in order of size."""
        return str(tuple(sorted(self.row["sizes"])))[:80]

    @property
    def largest(self) -> int:
        """Numbers of the largest chunk."""
        return max(self.row["sizes"], default=0)


def judge_streamed_traffic(observation: Observation, seed: int) -> Verdict:
    """Judge chunks and bytes of each update."""
    for case, facts in zip(streamed_cases(seed), observation.facts["settings"], strict=True):
        known: set[int] = set()
        for number, row in enumerate(facts["updates"]):
            updated = {index for index, one in enumerate(case.make_gradients(number)) if one is not None}
            counts = case.numbers
            sizes = [min(case.chunk, counts[i] - at) for i in updated for at in range(0, counts[i], case.chunk)]
            amounts = [
                STATE_BYTES * sum(counts[i] for i in some) for some in (updated, updated & known, updated | known)
            ]
            known |= updated
            verdict = TRAFFIC.judge(Update(row, case.chunk, tuple(sorted(sizes)), *amounts))
            if verdict:
                return verdict
    return Verdict(PASSED, "", "every update fetched and sent two moments of each number once, chunk by chunk")


def judge_streamed_peak(observation: Observation, seed: int) -> Verdict:
    """Judge what an update holds on the device in addition to weights and gradients."""
    case = streamed_peak_case(seed)
    (claim,) = observation.facts["claims"]
    needed = 2 * 4 * sum(case.numbers)
    above = claimed_peak_bytes(claim, needed) - needed
    limit = CHUNKS * 4 * case.chunk
    expected = f"at most {format_bytes(limit)} above weights and gradients: {CHUNKS} chunks of float32 numbers"
    measured = f"{format_bytes(above)}, where all moments have {format_bytes(STATE_BYTES * sum(case.numbers))}"
    if above <= limit:
        return Verdict(PASSED, expected, measured)
    moment_bytes = int(observation.facts["moment_bytes"])
    if moment_bytes > limit // 2:
        look_at = (
            f"You hold {format_bytes(moment_bytes)} of moments on the device at once. Fetch, update and put within the "
            "loop over chunks, and keep none of them."
        )
        return Verdict("state_kept_on_device", expected, measured, look_at)
    look_at = (
        "You copy a whole weight or gradient: few moments are there at once. Use views, as view(-1) and split return."
    )
    return Verdict("whole_copies", expected, measured, look_at)


def _run(stream_state: Callable[..., Tensor], case: StreamedCase) -> Tensor:
    return stream_state(case, adamw_update)


TABLE = ReferenceTable(
    stream_state,
    Misconception(
        "nothing_updated",
        "You change no weight. A copy was updated, or nothing was: hand `update` a view of the parameter.",
        {"            weights[index] = flat": "            pass"},
    ),
    Misconception(
        "state_not_written_back",
        "You fetch moments and do not put the new ones back, so each update starts from the old ones.",
        {KEPT: "state.setdefault(key, (torch.zeros_like(weight), torch.zeros_like(weight)))"},
        variants=[{KEPT: "pass"}, {FETCHED: COPIED, KEPT: "state.setdefault(key, (first, second))"}],
    ),
    Misconception(
        "second_moments_lost",
        "You put the first moment back and not the second. Both change in every update.",
        {KEPT: "state[key] = (first, torch.zeros_like(second))"},
        variants=[{FETCHED: COPIED, KEPT: "state[key] = (first, state.get(key, (first, second))[1])"}],
    ),
    Misconception(
        "one_place_for_both",
        "You put both moments onto one far tensor, so the second replaces the first. Each needs one of its own.",
        {KEPT: "state[key] = (second.clone(), second)"},
    ),
    Misconception(
        "state_in_fewer_bits",
        "You round moments to fewer bits on their way. Far memory holds any dtype: keep that of the weight.",
        {KEPT: "state[key] = (first.bfloat16().float(), second.bfloat16().float())"},
    ),
    Misconception(
        "moments_swapped",
        "You swap the moments between `put` and `get`. Look at the order in which they are kept.",
        {KEPT: "state[key] = (second, first)"},
        variants=[{KEPT: "state[key] = (second, first) if key in state else (first, second)"}],
    ),
    Misconception(
        "one_tensor_for_both",
        "You make one tensor of zeros for both moments, so what is written into one is in the other.",
        {FETCHED: COPIED.replace("one.clone() for one in", "one if key not in state else one.clone() for one in")},
    ),
    Misconception(
        "moments_shared",
        "You use the moments of one parameter for another of the same size or shape. The parameter itself and a place "
        "in it identify a chunk.",
        {"key = (index, start)": "key = (case.numbers[index], start)"},
        variants=[{"key = (index, start)": "key = (case.shapes[index], start)"}],
    ),
    Misconception(
        "counted_for_each_chunk",
        "You count each chunk as an update. A parameter's count goes up once per step, for all its chunks.",
        {COUNT: "pass", "key = (index, start)": "key = (index, start); counts[index] += 1"},
    ),
    Misconception(
        "one_count_for_all",
        "You count steps, not updates of a parameter. One without a gradient is not updated, so its count stays.",
        {CALL: "first, second, number + 1)"},
        variants=[{COUNT: "counts[0] += 1", CALL: "first, second, counts[0])"}],
    ),
    Misconception(
        "count_never_rises",
        "You call every update the first. Bias correction needs its number: look at what counts.",
        {CALL: "first, second, 1)"},
    ),
    Misconception(
        "missing_gradient_as_zero",
        "You update a parameter without a gradient as if that were 0. AdamW skips it: no decay, no count.",
        {ABSENT: "gradient = torch.zeros_like(weights[index])"},
    ),
    Misconception(
        "stopped_at_missing_gradient",
        "You stop at the first parameter without a gradient. Skip that one, and update those after it.",
        {ABSENT: "break"},
    ),
    Misconception(
        "tail_left_out",
        "You leave the short last chunk out. Look at where your loop over chunks ends.",
        {"range(0, len(flat), case.chunk)": "range(0, len(flat) - case.chunk + 1, case.chunk)"},
        variants=[{"range(0, len(flat), case.chunk)": "range(0, len(flat) - 1, case.chunk)"}],
    ),
    Misconception(
        "first_chunk_only",
        "You update the first chunk of each parameter only. Walk through all of them.",
        {"range(0, len(flat), case.chunk)": "range(0, min(1, len(flat)), case.chunk)"},
    ),
    hard_coded(streamed_cases),
    run=_run,
    cases=streamed_cases,
    is_near=within(relative=TOLERANCE, absolute=TOLERANCE),
)
TRAFFIC: Table[Update] = Table(
    Misconception(
        "update_never_called",
        "You never call `update`. Hand each chunk of a weight, its gradient and its moments to it.",
        shown_by=lambda seen: not seen.row["sizes"] and bool(seen.row["sent"]),
        expected="{count} calls of update",
        measured="none",
    ),
    Misconception(
        "zeros_sent_early",
        "You send zeros before the first step, also for parameters that may never get a gradient. Moments begin in a "
        "parameter's first update.",
        shown_by=lambda seen: bool(seen.row["early"]),
        expected="0 bytes sent before the first step",
        measured="{row[early]} bytes",
    ),
    Misconception(
        "nothing_sent",
        "You send no state, so it is on the device between updates. Put both moments into far memory.",
        shown_by=lambda seen: not seen.row["sent"],
        expected="{state_bytes} bytes sent",
        measured="0 bytes sent",
    ),
    Misconception(
        "chunk_too_large",
        "You hand `update` more numbers than a chunk has, so its buffers are larger. Cut each parameter into chunks.",
        shown_by=lambda seen: seen.largest > seen.chunk,
        expected="at most {chunk} numbers at a time",
        measured="{largest} numbers",
    ),
    Misconception(
        "other_chunks",
        "You cut other pieces. `chunk` is how many numbers a piece has: cut each parameter by itself into whole chunks "
        "and a tail.",
        shown_by=lambda seen: tuple(sorted(seen.row["sizes"])) != seen.wanted_sizes,
        expected="{count} chunks of {chunk} numbers, or the rest of a parameter: sizes {wanted_sizes}",
        measured="sizes {sizes}",
    ),
    Misconception(
        "old_copies_kept",
        "You put a new copy each time and keep the old one, so far memory grows. Replace it: `put(tensor, onto)`.",
        shown_by=lambda seen: seen.row["held"] > seen.all_bytes,
        expected="{all_bytes} bytes held in far memory",
        measured="{row[held]} bytes",
    ),
    Misconception(
        "state_served_from_device",
        "You fetch less than the moments have, so the device still has them. After an update only far memory does.",
        shown_by=lambda seen: seen.row["fetched"] < seen.known_bytes,
        expected="{known_bytes} bytes fetched",
        measured="{row[fetched]} bytes",
    ),
    Misconception(
        "fetched_too_often",
        "You fetch more than both moments. Fetch each once per chunk, and nothing else: weights are on the device.",
        shown_by=lambda seen: seen.row["fetched"] > seen.state_bytes,
        expected="at most {state_bytes} bytes fetched",
        measured="{row[fetched]} bytes",
    ),
    Misconception(
        "sent_too_often",
        "You send more than the new moments. Zeros of the first update need no transfer.",
        shown_by=lambda seen: seen.row["sent"] > 2 * seen.state_bytes - seen.known_bytes,
        expected="{state_bytes} bytes sent",
        measured="{row[sent]} bytes",
    ),
    Misconception(
        "sent_too_little",
        "You send less than both new moments. What is not sent is lost or still on the device.",
        shown_by=lambda seen: seen.row["sent"] < seen.state_bytes,
        expected="{state_bytes} bytes sent",
        measured="{row[sent]} bytes",
    ),
    Misconception(
        "last_moments_kept",
        "You keep moments on the device after the step, as a cache or in a variable that outlives it. After a step "
        "they are in far memory only.",
        shown_by=lambda seen: bool(seen.row["kept"]),
        expected="no moments on the device after a step",
        measured="{row[kept]} bytes",
    ),
)
