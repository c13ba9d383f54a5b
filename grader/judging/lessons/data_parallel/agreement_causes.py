"""Names why a function does not tell whether ranks hold the same weights, by the differences that it misses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from grader.lessons.data_parallel.agreement import EQUAL, EQUAL_WITH_NAN, PARAMETERS, PLACES, AgreementCase, one_of

SMALLEST_DIGEST_BITS = 32
FLOAT32_BITS = 24  # that a float32 keeps of a whole number
PARAMETER_NAMES = tuple(f"{place}.{name}" for place in range(PARAMETERS // 2) for name in ("weight", "bias"))
NOT_A_NUMBER = "not a number"
_MATRICES = {0, 2, 4}
_AT_EDGES = {"first number", "last number", "swapped", "negated"}  # of a matrix; a shortened text shows them
_LITTLE = {"exchanged", "negative zero", NOT_A_NUMBER}  # what a digest that misses more also misses
OF_NUMBERS = (
    "weights_as_numbers",
    "nan_unlike_itself",
    "nan_compared",
    "zeros_alike",
)  # numbers are compared in place of their bits


def is_equal(case: AgreementCase) -> bool:
    """Return whether all ranks hold the same weights."""
    return case.kind in (EQUAL, EQUAL_WITH_NAN)


class Answer(NamedTuple):
    """What the ranks answered in one case."""

    case: AgreementCase
    seen: list[object]

    @property
    def is_right(self) -> bool:
        """Whether every rank was right."""
        return all(answer == is_equal(self.case) for answer in self.seen)

    @property
    def has_nan(self) -> bool:
        """Whether a NaN takes part, which has causes of its own."""
        return self.case.kind in (EQUAL_WITH_NAN, NOT_A_NUMBER)


class Sent(NamedTuple):
    """What is known of the collectives of all calls: how many one call has at least, and what the ranks put in.

    Attributes:
        fewest_calls: Collectives of the call that has the fewest.
        varying_bits: Bits that vary between the models.
        salted: Names of the types whose salted hashes were taken.
        formats: Number formats of the tensors.
    """

    fewest_calls: int
    varying_bits: int
    salted: list[str]
    formats: list[str]


Cause = tuple[str, str]  # code, look_at


def explain_answers(answers: Sequence[Answer], sent: Sent) -> Cause:
    """Return the code, and where to look, for answers that are not all right."""
    plain = [answer for answer in answers if answer.case.kind != EQUAL_WITH_NAN]
    if all(all(answer.seen) for answer in plain):
        return _explain_always_true(sent)
    if not all(all(answer.seen) for answer in plain if is_equal(answer.case)):
        return _explain_doubt(plain, sent)
    without_nan = [answer for answer in plain if answer.case.kind != NOT_A_NUMBER]
    missed = [answer.case for answer in plain if not is_equal(answer.case) and all(answer.seen)]
    return (
        _explain_other_answers(without_nan)
        or _explain_left_out_rank(plain, missed)
        or _explain_numbers(answers, {case.kind for case in missed})
        or _explain_missed({case.kind for case in missed})
        or _explain_nan(answers)
    )


def explain_short_digest(sent: Sent) -> Cause:
    """Return the code, and where to look, for a digest of fewer bits than are asked for."""
    bits = sent.varying_bits
    if bits < FLOAT32_BITS:
        return "digest_too_short", f"1 of {2**bits:,} other models has the same digest: send more of it"
    if "float32" in sent.formats:
        look_at = f"the number format: a float32 keeps {FLOAT32_BITS} bits of a whole number, an int64 keeps 64"
        return "digest_in_float32", look_at
    look_at = f"how many bytes of the digest you send: {bits} bits are fewer than {SMALLEST_DIGEST_BITS}"
    return "digest_below_32_bits", look_at


def _explain_numbers(answers: Sequence[Answer], missed: set[str]) -> Cause | None:
    is_doubted = any(not answer.is_right for answer in answers if answer.case.kind == EQUAL_WITH_NAN)
    if not is_doubted or not missed or not missed <= {"negative zero", NOT_A_NUMBER}:
        return None
    look_at = (
        "calculations lose the sign of 0, and NaN is unlike itself: a digest of the weights' bytes sees both right"
    )
    return "weights_as_numbers", look_at


def _explain_nan(answers: Sequence[Answer]) -> Cause:
    if all(answer.is_right for answer in answers if answer.case.kind == NOT_A_NUMBER):
        return "nan_unlike_itself", "all ranks hold the same NaN: == says that it differs from itself, its bits do not"
    return "nan_compared", "NaN on one rank: every comparison with it is False, so compare bits and not numbers"


def _explain_always_true(sent: Sent) -> Cause:
    if not sent.fewest_calls:
        return "always_true", "what your function compares: does anything of another rank reach it?"
    if not sent.varying_bits:
        return (
            "digest_of_no_weights",
            "what your ranks exchange is the same for other weights: is it made of their values?",
        )
    look_at = "each collective writes into its tensor: MIN and MAX need one tensor each, and a rank its own beside them"
    return "compared_with_itself", look_at


def _explain_doubt(plain: Sequence[Answer], sent: Sent) -> Cause:
    if sent.salted:
        look_at = f"hash() of {', '.join(sent.salted)}: each process salts it in its own way; hashlib does not"
        return "python_hash", look_at
    code = "equal_ranks_doubted" if any(any(answer.seen) for answer in plain) else "always_false"
    return code, "equal ranks: what differs between two digests of the same weights?"


def _explain_other_answers(answers: Sequence[Answer]) -> Cause | None:
    """Explain answers that are not the same on all ranks."""
    some = [(case, seen) for case, seen in answers if any(seen) and not all(seen)]
    if not some:
        return None
    if all(seen[0] for _, seen in some):
        return "rank_zero_not_told", "rank 0 compares itself with itself: who tells it what the others found?"
    if all(seen == [rank not in (0, case.odd_rank) for rank in range(case.world_size)] for case, seen in some):
        return "only_the_two_know", "the ranks between: who tells them what the others found?"
    return "ranks_answer_differently", "the answer has to be the same on every rank: who tells whom?"


def _explain_left_out_rank(plain: Sequence[Answer], missed: Sequence[AgreementCase]) -> Cause | None:
    largest = max(answer.case.world_size for answer in plain)
    for rank in range(1, largest):
        own = [a.case for a in plain if a.case.world_size == largest and a.case.odd_rank == rank]
        if missed and list(missed) == own:
            return "rank_left_out", f"rank {rank} of {largest} is compared with nobody: which ranks do you compare?"
    return None


def _explain_missed(missed: set[str]) -> Cause | None:
    left_out = {parameter for parameter in range(PARAMETERS) if one_of(parameter) in missed}
    inside = {kind for kind, places in PLACES.items() if set(places) <= left_out}
    if left_out and missed == inside:
        return _explain_left_out(left_out)
    if left_out == _MATRICES and not missed & _AT_EDGES:
        look_at = "str() of a large tensor shows its edges alone, and rounds their numbers: tobytes() has all bits"
        return "text_compared", look_at
    if len(left_out) > 1:
        look_at = "a number in the middle of a parameter: does the whole of each enter your digest, or a part of it?"
        return "numbers_left_out", look_at
    for kinds, code, look_at in _KNOWN:
        if missed - _LITTLE == kinds and kinds:
            return code, look_at
    for kind, code, look_at in _KNOWN_LITTLE:
        if kind in missed and missed <= _LITTLE:
            return code, look_at
    if not missed:
        return None
    return "differences_missed", f"differences that your digest does not show: {', '.join(sorted(missed))}"


def _explain_left_out(left_out: set[int]) -> Cause:
    if left_out == {0, 1}:
        return "frozen_left_out", "frozen parameters are weights too: do the ranks agree on them?"
    if left_out == {1, 3, 5}:
        return "biases_left_out", "biases are weights too: which parameters enter your digest?"
    if len(left_out) == PARAMETERS - 1:
        (entering,) = set(range(PARAMETERS)) - left_out
        return "one_parameter_only", f"only {PARAMETER_NAMES[entering]} enters your digest: what about all the others?"
    names = ", ".join(PARAMETER_NAMES[parameter] for parameter in sorted(left_out))
    code = "parameters_left_out" if len(left_out) > 1 else "parameter_left_out"
    return code, f"the model is three linear layers, and {names} does not enter your digest"


_KNOWN = (
    (
        {"swapped", "last bits"},
        "sum_compared",
        "a sum keeps its value when two numbers are swapped, and rounds small ones away",
    ),
    (
        {"swapped"},
        "order_forgotten",
        "a sum, or another value that forgets the order: use one that two numbers cannot swap in",
    ),
    (
        {"swapped", "negated"},
        "size_compared",
        "a norm, or another size: it knows neither signs nor the order of numbers",
    ),
    (
        {"swapped", "negated", "last bits"},
        "size_compared_roughly",
        "a norm knows neither signs nor the order of numbers, and rounds small differences away",
    ),
    ({"negated"}, "signs_left_out", "a matrix with the other sign: what takes the signs away?"),
    ({"last bits"}, "tolerance_too_wide", "ranks that agree are equal to the last bit: no tolerance is needed"),
    ({"last number"}, "last_number_left_out", "the last number of a parameter: where does your slice end?"),
    ({"first number"}, "first_number_left_out", "the first number of a parameter: where does your slice begin?"),
)
_KNOWN_LITTLE = (
    (
        "exchanged",
        "parameters_exchanged",
        "two matrices exchanged: what puts the digests of the parameters together, and does it keep their order?",
    ),
    (NOT_A_NUMBER, "nan_replaced", "NaN on one rank only: what makes another number of it?"),
    ("negative zero", "zeros_alike", "0 and -0 have other bits: take the bits of the weights, before any sum"),
)
