"""Verdict on the predicted all-reduces of one update, and their bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

from grader.cases.data_parallel import AROUND_BOTH, NOWHERE, CallsCase, calls_cases
from grader.judges.numbers import Mistake, failed, recognise
from grader.observation import Observation
from grader.units import MIB
from grader.verdict import PASSED, Verdict

VISIBLE_SEED = 0


class Rule(NamedTuple):
    """One way to work out a part of the answer; the code of the right one is empty."""

    code: str
    apply: Callable[..., Any]
    look_at: str


def _closed_when_full(sizes: Sequence[int], limit: int) -> int:
    """Count buckets of which each is closed as soon as it holds `limit`."""
    buckets, held = 0, 0
    for size in sizes:
        buckets += held == 0
        held += size
        held = 0 if held >= limit else held
    return buckets


def _closed_beyond(sizes: Sequence[int], limit: int) -> int:
    return _closed_when_full(sizes, limit + 1)


def _never_overfilled(sizes: Sequence[int], limit: int) -> int:
    buckets, held = 0, 0
    for size in sizes:
        if not buckets or held + size > limit:
            buckets, held = buckets + 1, 0
        held += size
    return buckets


def _full_ones_only(sizes: Sequence[int], limit: int) -> int:
    """Count the buckets that were closed; what is left at the end is forgotten."""
    buckets, held = 0, 0
    for size in sizes:
        held += size
        if held >= limit:
            buckets, held = buckets + 1, 0
    return buckets


def _backwards(sizes: Sequence[int]) -> list[int]:
    return list(reversed(sizes))


_ORDER = "gradients are ready from the last parameter to the first: in which order do they fill the buckets?"
_CLOSING = "when a bucket is closed: as soon as it holds the limit, also where a tensor takes it beyond"
_BUCKETS = (
    Rule("", lambda sizes, limit: _closed_when_full(_backwards(sizes), limit), ""),
    Rule("buckets_filled_forwards", _closed_when_full, _ORDER),
    Rule(
        "bytes_over_bucket",
        lambda sizes, limit: -(-sum(sizes) // limit),
        "a tensor is never cut: a division of all bytes by the bucket's does not count buckets",
    ),
    Rule(
        "bytes_over_bucket_rounded_down",
        lambda sizes, limit: max(1, sum(sizes) // limit),
        "a tensor is never cut, and the last bucket may be small: go through the tensors one by one",
    ),
    Rule("bucket_never_overfilled", lambda sizes, limit: _never_overfilled(_backwards(sizes), limit), _CLOSING),
    Rule("bucket_closed_beyond", lambda sizes, limit: _closed_beyond(_backwards(sizes), limit), _CLOSING),
    Rule(
        "last_bucket_left_out",
        lambda sizes, limit: _full_ones_only(_backwards(sizes), limit),
        "the gradients that are left when all are ready: their bucket is all-reduced too",
    ),
    Rule("one_for_each_tensor", lambda sizes, limit: len(sizes), "several gradients share a bucket: bucket_bytes"),
    Rule("one_bucket", lambda sizes, limit: 1, "bucket_bytes: how many buckets do the gradients fill?"),
)
_SIZES = (
    Rule("", lambda case: [size for size, is_trained in _tensors(case) if is_trained], ""),
    Rule("frozen_counted", lambda case: [size for size, _ in _tensors(case)], "frozen parameters have no gradient"),
    Rule(
        "elements_for_bytes",
        lambda case: [size // case.dtype.itemsize for size, is_trained in _tensors(case) if is_trained],
        "the unit: a bucket is filled with bytes, and a number has several",
    ),
)
_BACKWARDS = (
    Rule("", lambda case: 1 if case.no_sync == AROUND_BOTH else case.k, ""),
    Rule(
        "backward_alone_believed",
        lambda case: case.k if case.no_sync == NOWHERE else 1,
        "forward decides whether the backward that follows synchronises: what did it see?",
    ),
    Rule("accumulation_left_out", lambda case: 1, "without no_sync each of the k backwards of an update synchronises"),
    Rule("no_sync_left_out", lambda case: case.k, "with no_sync around both, only the last micro-batch synchronises"),
    Rule(
        "quiet_ones_counted",
        lambda case: case.k - 1 if case.no_sync == AROUND_BOTH else case.k,
        "no_sync stands around all micro-batches but the last: which of them synchronises?",
    ),
)


def _tensors(case: CallsCase) -> list[tuple[int, bool]]:
    """Return the bytes of each parameter, and whether it is trained."""
    return [(p.numel() * p.element_size(), p.requires_grad) for p in case.make_parameters()]


def predict(
    case: CallsCase, buckets: Rule = _BUCKETS[0], sizes: Rule = _SIZES[0], backwards: Rule = _BACKWARDS[0]
) -> tuple[int, int]:
    """Return the all-reduces of one update and their bytes, by the right rules or by others."""
    tensors, times = sizes.apply(case), backwards.apply(case)
    return buckets.apply(tensors, case.bucket_bytes) * times, sum(tensors) * times


def _call_mistakes() -> list[Mistake[CallsCase]]:
    """Return every combination of rules, those that differ from the right ones in one part first."""
    combinations = [parts for parts in product(_BUCKETS, _SIZES, _BACKWARDS) if any(part.code for part in parts)]
    combinations.sort(key=lambda parts: sum(bool(part.code) for part in parts))
    mistakes = []
    for parts in combinations:
        wrong = [part for part in parts if part.code]
        code, look_at = "_and_".join(part.code for part in wrong), "; and ".join(part.look_at for part in wrong)
        mistakes.append(Mistake(code, lambda case, parts=parts: predict(case, *parts)[0], look_at))  # type: ignore[misc]
    return mistakes


_FORMAT = "element_size(): 16-bit parameters have 16-bit gradients"
_BYTE_MISTAKES: tuple[Mistake[CallsCase], ...] = (
    Mistake("frozen_bytes_counted", lambda c: predict(c, sizes=_SIZES[1])[1], "frozen parameters have no gradient"),
    *(
        Mistake(f"bytes_{rule.code}", lambda c, rule=rule: predict(c, backwards=rule)[1], rule.look_at)  # type: ignore[misc]
        for rule in _BACKWARDS[1:]
    ),
    Mistake("four_bytes_assumed", lambda c: 4 * predict(c)[1] // c.dtype.itemsize, _FORMAT),
    Mistake("bytes_in_elements", lambda c: predict(c)[1] // c.dtype.itemsize, "the unit: a number has several bytes"),
    Mistake(
        "full_buckets_assumed",
        lambda c: predict(c)[0] * c.bucket_bytes,
        "buckets hold more or less than bucket_bytes: all gradients together are known to the byte",
    ),
    Mistake(
        "bytes_of_all_for_each_bucket",
        lambda c: predict(c)[0] * sum(_SIZES[0].apply(c)),
        "each bucket holds a part of the gradients, not all of them",
    ),
    Mistake("both_ways_counted", lambda c: 2 * predict(c)[1], "what a rank puts in is asked for, not what it moves"),
    Mistake("mebibytes_for_bytes", lambda c: predict(c)[1] / MIB, "the unit: bytes are asked for, not MiB"),
    Mistake("calls_for_bytes", lambda c: predict(c)[0], "the second number: bytes, not all-reduces"),
)
_CALL_MISTAKES = _call_mistakes()
_SWAPPED = Mistake[CallsCase]("swapped", lambda c: predict(c)[1], "the order of the two numbers: all-reduces first")


def judge_data_parallel_calls(observation: Observation, seed: int) -> Verdict:
    """Compare the two numbers of every update with those that DistributedDataParallel makes."""
    cases = calls_cases(seed)
    answers = [(float(calls), float(size)) for calls, size in observation.facts["predicted"]]
    for part, mistakes in enumerate(((_SWAPPED, *_CALL_MISTAKES), _BYTE_MISTAKES)):
        seen = [answer[part] for answer in answers]
        for case, answer in zip(cases, seen, strict=True):
            wanted = predict(case)[part]
            if answer != wanted:
                mistake = recognise(mistakes, cases, seen, relative=1e-6) or _hard_coded(seen, part) or _constant(seen)
                expected, measured = f"{_say(wanted, part)} for {_describe(case)}", f"{_say(answer, part)}"
                return failed(mistake, expected, measured, _OTHERWISE[part])
    return Verdict(
        PASSED, "calls and bytes of every update", f"{len(cases)} updates, each with its calls and its bytes"
    )


_OTHERWISE = (
    "the list of buckets of one backward; then, how many backwards of the update synchronise",
    "the bytes of all trained gradients; then, how many backwards of the update synchronise",
)


def _hard_coded(seen: Sequence[float], part: int) -> Mistake[CallsCase] | None:
    if list(seen) != [predict(case)[part] for case in calls_cases(VISIBLE_SEED)]:
        return None
    return Mistake("visible_case_hard_coded", lambda c: 0, "numbers that are right for other models: compute them")


def _constant(seen: Sequence[float]) -> Mistake[CallsCase] | None:
    if len(set(seen)) > 1:
        return None
    return Mistake("same_for_all", lambda c: 0, "the answer is the same for every update: what does it depend on?")


def _say(number: float, part: int) -> str:
    return f"{number:,.10g} {'bytes' if part else 'all-reduce' if number == 1 else 'all-reduces'}"


def _describe(case: CallsCase) -> str:
    sizes = ", ".join(f"{size:,}" for size, _ in _tensors(case))
    frozen = f" ({len(case.frozen)} frozen)" if case.frozen else ""
    return f"tensors of {sizes} bytes{frozen}, buckets of {case.bucket_bytes:,}, k = {case.k}, no_sync {case.no_sync}"
