"""Ways to work out the all-reduces of one update: the right one, and those of misconceptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

from grader.judging.numbers import Mistake
from grader.lessons.data_parallel.calls import AROUND_BOTH, NOWHERE, CallsCase
from grader.units import MIB


class Rule(NamedTuple):
    """One way to work out a part of the answer; the code of the right one is empty."""

    code: str
    apply: Callable[..., Any]
    look_at: str


def closed_when_full(sizes: Sequence[int], limit: int) -> int:
    """Count buckets of which each is closed as soon as it holds `limit`."""
    buckets, held = 0, 0
    for size in sizes:
        buckets += held == 0
        held += size
        held = 0 if held >= limit else held
    return buckets


def _closed_beyond(sizes: Sequence[int], limit: int) -> int:
    return closed_when_full(sizes, limit + 1)


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
BUCKETS = (
    Rule("", lambda sizes, limit: closed_when_full(_backwards(sizes), limit), ""),
    Rule("buckets_filled_forwards", closed_when_full, _ORDER),
    Rule(
        "bytes_over_bucket",
        lambda sizes, limit: -(-sum(sizes) // limit),
        "a tensor is never cut: no division of all bytes, and no rest that goes on into the next bucket",
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
    Rule(
        "one_bucket_too_many",
        lambda sizes, limit: _full_ones_only(_backwards(sizes), limit) + 1,
        "the last bucket: when it was closed with the last gradient, nothing is left to be all-reduced",
    ),
    Rule("one_for_each_tensor", lambda sizes, limit: len(sizes), "several gradients share a bucket: bucket_bytes"),
    Rule("one_bucket", lambda sizes, limit: 1, "bucket_bytes: how many buckets do the gradients fill?"),
)
SIZES = (
    Rule("", lambda case: [size for size, is_trained in tensors_of(case) if is_trained], ""),
    Rule("frozen_counted", lambda case: [size for size, _ in tensors_of(case)], "frozen parameters have no gradient"),
    Rule(
        "stops_at_frozen",
        lambda case: _behind_the_last_frozen(case),
        "a frozen parameter has no gradient, and the walk goes on behind it: break, or continue?",
    ),
    Rule(
        "elements_for_bytes",
        lambda case: [size // case.dtype.itemsize for size, is_trained in tensors_of(case) if is_trained],
        "the unit: a bucket is filled with bytes, and a number has several",
    ),
)
BACKWARDS = (
    Rule("", lambda case: 1 if case.no_sync == AROUND_BOTH else case.k, ""),
    Rule(
        "backward_alone_believed",
        lambda case: case.k if case.no_sync == NOWHERE else 1,
        "forward decides whether the backward that follows synchronises: what did it see?",
    ),
    Rule("accumulation_left_out", lambda case: 1, "without no_sync each of the k backwards of an update synchronises"),
    Rule(
        "one_backward_too_few",
        lambda case: 1 if case.no_sync == AROUND_BOTH else case.k - 1,
        "where no_sync changes nothing, all k backwards of an update synchronise, the last one too",
    ),
    Rule(
        "one_backward_too_many",
        lambda case: 1 if case.no_sync == AROUND_BOTH else case.k + 1,
        "an update of k micro-batches has k backwards, and no other all-reduce of its gradients",
    ),
    Rule(
        "backward_alone_adds_one",
        lambda case: {NOWHERE: case.k, AROUND_BOTH: 1}.get(case.no_sync, case.k + 1),
        "around backward alone, no_sync changes nothing: the k backwards of the update synchronise, and no other",
    ),
    Rule(
        "backward_alone_saves_one",
        lambda case: {NOWHERE: case.k, AROUND_BOTH: 1}.get(case.no_sync, max(1, case.k - 1)),
        "around backward alone, no_sync saves nothing: each forward prepared its backward already",
    ),
    Rule("no_sync_left_out", lambda case: case.k, "with no_sync around both, only the last micro-batch synchronises"),
    Rule(
        "both_silences_all",
        lambda case: 0 if case.no_sync == AROUND_BOTH else case.k,
        "no_sync stands around all micro-batches but the last of an update: what does the last one do?",
    ),
    Rule(
        "quiet_ones_counted",
        lambda case: case.k - 1 if case.no_sync == AROUND_BOTH else case.k,
        "no_sync stands around all micro-batches but the last: which of them synchronises?",
    ),
)


def _behind_the_last_frozen(case: CallsCase) -> list[int]:
    """Return the sizes of the trained tensors that come before any frozen one, from the last parameter on."""
    last = max(case.frozen, default=-1)
    return [size for size, _ in tensors_of(case)[last + 1 :]]


def _with_open_buckets(case: CallsCase, is_reduced: bool) -> int:
    """Count the buckets if a frozen tensor ended the open one, which is all-reduced then or forgotten."""
    buckets, held = 0, 0
    for size, is_trained in reversed(tensors_of(case)):
        if not is_trained:
            buckets, held = buckets + (is_reduced and held > 0), 0
            continue
        held += size
        if held >= case.bucket_bytes:
            buckets, held = buckets + 1, 0
    return buckets + (held > 0)


def _bytes_of_full_buckets(case: CallsCase) -> int:
    """Add up the bytes of the buckets that were closed; what is left at the end is forgotten."""
    closed, held = 0, 0
    for size in reversed(SIZES[0].apply(case)):
        held += size
        if held >= case.bucket_bytes:
            closed, held = closed + held, 0
    return closed * BACKWARDS[0].apply(case)  # type: ignore[no-any-return]


def tensors_of(case: CallsCase) -> list[tuple[int, bool]]:
    """Return the bytes of each parameter, and whether it is trained."""
    return [(p.numel() * p.element_size(), p.requires_grad) for p in case.make_parameters()]


def predict(
    case: CallsCase, buckets: Rule = BUCKETS[0], sizes: Rule = SIZES[0], backwards: Rule = BACKWARDS[0]
) -> tuple[int, int]:
    """Return the all-reduces of one update and their bytes, by the right rules or by others."""
    tensors, times = sizes.apply(case), backwards.apply(case)
    return buckets.apply(tensors, case.bucket_bytes) * times, sum(tensors) * times


def _call_mistakes() -> tuple[Mistake[CallsCase], ...]:
    """Return every combination of rules, those that differ from the right ones in one part first."""
    combinations = [parts for parts in product(BUCKETS, SIZES, BACKWARDS) if any(part.code for part in parts)]
    combinations.sort(key=lambda parts: sum(bool(part.code) for part in parts))
    mistakes: list[Mistake[CallsCase]] = []
    for parts in combinations:
        wrong = [part for part in parts if part.code]
        code, look_at = "_and_".join(part.code for part in wrong), "; and ".join(part.look_at for part in wrong)
        mistakes.append(Mistake(code, lambda case, parts=parts: predict(case, *parts)[0], look_at))  # type: ignore[misc]
    look_at = "a frozen tensor has no gradient, so an open bucket stays open for the next one that has"
    frozen: tuple[Mistake[CallsCase], ...] = tuple(
        Mistake(code, lambda c, way=is_reduced: _with_open_buckets(c, way) * BACKWARDS[0].apply(c), look_at)  # type: ignore[misc]
        for code, is_reduced in (("frozen_closes_bucket", True), ("frozen_empties_bucket", False))
    )
    swapped = Mistake[CallsCase]("swapped", lambda c: predict(c)[1], "the order of the two numbers: all-reduces first")
    return (swapped, *frozen, *mistakes)


_WHOLE = "accumulation makes no gradient smaller: each all-reduce that takes place has whole gradients"
_FORMAT = "element_size(): 16-bit parameters have 16-bit gradients"
BYTE_MISTAKES: tuple[Mistake[CallsCase], ...] = (
    Mistake("frozen_bytes_counted", lambda c: predict(c, sizes=SIZES[1])[1], "frozen parameters have no gradient"),
    *(
        Mistake(f"bytes_{rule.code}", lambda c, rule=rule: predict(c, backwards=rule)[1], rule.look_at)  # type: ignore[misc]
        for rule in BACKWARDS[1:]
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
        lambda c: predict(c)[0] * sum(SIZES[0].apply(c)),
        "each bucket holds a part of the gradients, not all of them",
    ),
    Mistake(
        "bytes_of_last_bucket_left_out",
        _bytes_of_full_buckets,
        "the last bucket is counted as an all-reduce: are its bytes in the sum?",
    ),
    Mistake("bytes_divided_by_k", lambda c: predict(c)[1] / c.k, _WHOLE),
    Mistake("bytes_divided_by_k", lambda c: predict(c)[1] // c.k, _WHOLE),
    Mistake("quiet_bytes_divided_by_k", lambda c: predict(c)[1] / (c.k if c.no_sync == AROUND_BOTH else 1), _WHOLE),
    Mistake("quiet_bytes_divided_by_k", lambda c: predict(c)[1] // (c.k if c.no_sync == AROUND_BOTH else 1), _WHOLE),
    Mistake("both_ways_counted", lambda c: 2 * predict(c)[1], "what a rank puts in is asked for, not what it moves"),
    Mistake("mebibytes_for_bytes", lambda c: predict(c)[1] / MIB, "the unit: bytes are asked for, not MiB"),
    Mistake("calls_for_bytes", lambda c: predict(c)[0], "the second number: bytes, not all-reduces"),
)
CALL_MISTAKES = _call_mistakes()
