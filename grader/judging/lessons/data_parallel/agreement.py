"""Judges a function that returns whether all ranks hold the same weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from grader.judging.lessons.data_parallel.reports import Facts, bytes_of, facts_of
from grader.judging.misconceptions import Misconception, Table
from grader.lessons.data_parallel.agreement import (
    EQUAL_WITH_NAN,
    PARAMETERS,
    PLACES,
    AgreementCase,
    agreement_cases,
    one_of,
)
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

LARGEST_SHARE = 0.01  # of the bytes of the parameters; two digests of 256 bytes are 0.4 % of the smallest model
SMALLEST_DIGEST_BITS = 32
FLOAT32_BITS = 24  # that a float32 keeps of a whole number
PARAMETER_NAMES = tuple(f"{place}.{name}" for place in range(PARAMETERS // 2) for name in ("weight", "bias"))
MATRICES, FROZEN = {0, 2, 4}, {0, 1}
AT_EDGES = {"first number", "last number", "swapped", "negated"}  # of a matrix; a shortened text shows them
OF_NUMBERS = {"negative zero", "not a number"}  # missed where numbers are compared in place of their bits
DIFFERENCES = {
    "first number": "the first number of all differs",
    "last number": "the last number of a matrix differs",
    "last bits": "one number differs in its last bits",
    "swapped": "two numbers of a matrix are swapped",
    "negated": "a matrix has the other sign",
    "exchanged": "two matrices are exchanged",
    "negative zero": "one number is -0, and 0 on the others",
    "not a number": "one number is NaN, and 0 on the others",
} | {one_of(index): f"one number of {name} differs" for index, name in enumerate(PARAMETER_NAMES)}


class Answer(NamedTuple):
    """What the ranks answered in one case."""

    case: AgreementCase
    seen: list[object]

    @property
    def truth(self) -> bool:
        """Whether all ranks hold the same weights."""
        return self.case.kind not in PLACES


@dataclass(frozen=True)
class Agreement:
    """All answers, and what is known of all collectives.

    Attributes:
        answers: In the order of the cases.
        reports: Of each rank of each run.
    """

    answers: Sequence[Answer]
    reports: Sequence[Facts]

    @cached_property
    def wrong(self) -> list[Answer]:
        """The wrong answers, those in which a NaN takes part at the end."""
        wrong = [answer for answer in self.answers if any(one != answer.truth for one in answer.seen)]
        return sorted(wrong, key=lambda answer: "NaN" in answer.case.kind or answer.case.kind == "not a number")

    @property
    def plain(self) -> list[Answer]:
        """The answers to cases other than equal ranks with a NaN."""
        return [answer for answer in self.answers if answer.case.kind != EQUAL_WITH_NAN]

    @property
    def is_split(self) -> bool:
        """Whether the ranks answer differently in a case without a NaN."""
        plain = [answer for answer in self.plain if answer.case.kind != "not a number"]
        return any(any(answer.seen) and not all(answer.seen) for answer in plain)

    @property
    def missed_cases(self) -> list[AgreementCase]:
        """The cases whose difference no rank saw."""
        return [answer.case for answer in self.plain if not answer.truth and all(answer.seen)]

    @cached_property
    def missed(self) -> set[str]:
        """The kinds of differences that no rank saw, and that change more than NaN or the sign of 0."""
        return {case.kind for case in self.missed_cases} - OF_NUMBERS

    @cached_property
    def left_out(self) -> set[int]:
        """The parameters in which a difference of one number in the middle was missed."""
        return {parameter for parameter in range(PARAMETERS) if one_of(parameter) in self.missed}

    @property
    def are_parameters_left_out(self) -> bool:
        """Whether some parameters are left out as a whole, and that is all."""
        inside = {kind for kind, places in PLACES.items() if set(places) <= self.left_out}
        return bool(self.left_out) and self.missed == inside - OF_NUMBERS

    @property
    def missed_names(self) -> str:
        """What was missed, to be read."""
        names = sorted(PARAMETER_NAMES[parameter] for parameter in self.left_out) or sorted(self.missed)
        return ", ".join(names)

    @property
    def doubts_equal(self) -> bool:
        """Whether equal ranks, without a NaN, were found to differ."""
        return not all(all(answer.seen) for answer in self.plain if answer.truth)

    @property
    def is_always_true(self) -> bool:
        """Whether all answers are True, except to equal ranks with a NaN."""
        return all(all(answer.seen) for answer in self.plain)

    @property
    def is_silent(self) -> bool:
        """Whether some call makes no collective."""
        return not all(calls for facts in self.reports for calls in facts["calls"])

    @property
    def varying_bits(self) -> int:
        """The bits in collectives that vary between the models."""
        return max(int(facts["varying_bits"]) for facts in self.reports)

    @property
    def has_short_digest(self) -> bool:
        """Whether what the ranks send varies in too few bits."""
        return 0 < self.varying_bits < SMALLEST_DIGEST_BITS

    @cached_property
    def share(self) -> float:
        """The largest share of the bytes of the parameters that a rank puts into collectives."""
        parameter_bytes = sum(parameter.nbytes for parameter in self.answers[0].case.make_model(0).parameters())
        return max(bytes_of(calls) for facts in self.reports for calls in facts["calls"]) / parameter_bytes

    def has_changed(self, part: int) -> bool:
        """Return whether a rank changed its weights (0), requires_grad (1) or gradients (2)."""
        return any(changed[part] for facts in self.reports for changed in facts["changed"])


def judge_data_parallel_agreement(observation: Observation, seed: int) -> Verdict:
    """Compare the answer of every rank with the truth, and the bytes that it cost."""
    cases, answers, reports = agreement_cases(seed), [], []
    for setting, size in enumerate(sorted({case.world_size for case in cases})):
        facts = facts_of(observation, setting, size)
        seen = zip(*(rank["answers"] for rank in facts), strict=True)
        of_size = [case for case in cases if case.world_size == size]
        answers += [Answer(case, list(one)) for case, one in zip(of_size, seen, strict=True)]
        reports += facts
    ranks = Agreement(answers, reports)
    wrong = (ranks.wrong or answers)[0]
    expected = f"{wrong.truth} on each of {wrong.case.world_size} ranks: {_describe(wrong)}"
    measured = f"{', '.join(map(str, wrong.seen))} on ranks 0 to {wrong.case.world_size - 1}"
    number = sum(len(answer.seen) for answer in answers)
    passed = f"{number} right answers, each for at most {ranks.share:.2%} of the bytes of the parameters"
    if ranks.wrong:
        return TABLE.explain(ranks, expected=expected, measured=measured, otherwise=OTHERWISE)
    return TABLE.judge(ranks, expected, measured) or Verdict(PASSED, "", passed)


def _describe(answer: Answer) -> str:
    if answer.truth:
        return "all ranks are equal" + (", and hold a NaN" if answer.case.kind == EQUAL_WITH_NAN else "")
    return f"on rank {answer.case.odd_rank}, {DIFFERENCES[answer.case.kind]}"


OTHERWISE = "You do not see this difference. Look at which numbers enter your digest."
TABLE = Table[Agreement](
    Misconception(
        "returned_none",
        "You return nothing on some rank. Look at the end of your function: every rank has to return its answer.",
        shown_by=lambda ranks: any("NoneType" in answer.seen for answer in ranks.answers),
    ),
    Misconception(
        "no_truth_value",
        "You return something other than True or False. Use bool(...) for a number or a tensor of one number.",
        shown_by=lambda ranks: any(isinstance(one, str) for answer in ranks.answers for one in answer.seen),
    ),
    Misconception(
        "weights_changed",
        "You change the weights of the model: a collective writes into its tensor. Give it a clone.",
        shown_by=lambda ranks: ranks.has_changed(0),
        expected="weights as they were",
        measured="other weights after the call",
    ),
    Misconception(
        "trained_parameters_changed",
        "You change requires_grad of the model. Use detach(), which gives a tensor without a graph.",
        shown_by=lambda ranks: ranks.has_changed(1),
        expected="frozen and trained parameters as they were",
        measured="another requires_grad after the call",
    ),
    Misconception(
        "gradients_changed",
        "You change the gradients of the model. A test of weights leaves .grad as it is.",
        shown_by=lambda ranks: ranks.has_changed(2),
        expected="gradients as they were",
        measured="another .grad after the call",
    ),
    Misconception(
        "always_true",
        "You return True whatever the ranks hold, and exchange nothing. Send a digest of the weights to the others.",
        shown_by=lambda ranks: ranks.is_always_true and ranks.is_silent,
    ),
    Misconception(
        "digest_of_no_weights",
        "You exchange something that is the same for other weights. Make the digest from the values of the parameters.",
        shown_by=lambda ranks: ranks.is_always_true and not ranks.varying_bits,
    ),
    Misconception(
        "compared_with_itself",
        "You compare a tensor with itself: each collective writes into its tensor. MIN and MAX need a clone each.",
        shown_by=lambda ranks: ranks.is_always_true,
    ),
    Misconception(
        "python_hash",
        "You use hash(), which each process salts in its own way for texts and bytes. Use hashlib.",
        shown_by=lambda ranks: ranks.doubts_equal and any(facts["salted"] for facts in ranks.reports),
    ),
    Misconception(
        "turned_round",
        "You return True where ranks differ. Return True where all ranks hold the same weights.",
        shown_by=lambda ranks: len(ranks.wrong) == len(ranks.answers) and not ranks.is_split,
    ),
    Misconception(
        "equal_ranks_doubted",
        "You return False where all ranks are equal. Two digests of the same weights have to be equal: look at what "
        "enters yours, and at what you compare it with.",
        shown_by=lambda ranks: ranks.doubts_equal,
    ),
    Misconception(
        "ranks_answer_differently",
        "You return True on one rank and False on another. Let every rank know what the others found.",
        shown_by=lambda ranks: ranks.is_split,
    ),
    Misconception(
        "rank_left_out",
        "You miss a rank that differs where there are three. Compare all ranks, not two of them.",
        shown_by=lambda ranks: {case.world_size for case in ranks.missed_cases} == {3},
    ),
    Misconception(
        "frozen_left_out",
        "You leave frozen parameters out of the digest. They are weights, too.",
        shown_by=lambda ranks: ranks.are_parameters_left_out and ranks.left_out == FROZEN,
    ),
    Misconception(
        "parameters_left_out",
        "You leave parameters out of the digest: {missed_names}, of a model of three linear layers. Look at your "
        "loop over the parameters.",
        shown_by=lambda ranks: ranks.are_parameters_left_out,
    ),
    Misconception(
        "text_compared",
        "You make the digest from a text of each tensor. A text shows only the edges of a large tensor, and rounds "
        "their numbers: use numpy().tobytes().",
        shown_by=lambda ranks: ranks.left_out == MATRICES and not ranks.missed & AT_EDGES,
    ),
    Misconception(
        "numbers_left_out",
        "You make the digest from a part of each parameter. Numbers in the middle of {missed_names} do not enter it.",
        shown_by=lambda ranks: len(ranks.left_out) > 1,
    ),
    Misconception(
        "signs_left_out",
        "You lose the signs of the weights, as a norm or abs() does: a matrix with the other sign looks the same to "
        "you. Use a digest of the bytes.",
        shown_by=lambda ranks: "negated" in ranks.missed,
    ),
    Misconception(
        "order_forgotten",
        "You compare a sum, or another value that stays the same when numbers or matrices change places. Use one "
        "digest of all bytes.",
        shown_by=lambda ranks: bool(ranks.missed & {"swapped", "exchanged"}),
    ),
    Misconception(
        "tolerance_too_wide",
        "You compare with a tolerance or a rounding. Ranks that agree are equal to the last bit.",
        shown_by=lambda ranks: "last bits" in ranks.missed,
    ),
    Misconception(
        "weights_sent",
        "You send the weights, or a large part of them. A digest is enough, whatever their number.",
        shown_by=lambda ranks: ranks.share > LARGEST_SHARE,
        expected="at most 1 % of the bytes of the parameters from each rank",
        measured="{share:.1%}",
    ),
    Misconception(
        "weights_as_numbers",
        "You compare the weights as numbers, or calculate with them. Then 0 equals -0, and NaN is unlike itself or is "
        "lost: make a digest of their bytes.",
        shown_by=lambda ranks: bool(ranks.wrong) and not ranks.missed,
    ),
    Misconception(
        "digest_in_float32",
        "You send the digest as a float32, which keeps 24 bits of a whole number. Use an integer format.",
        shown_by=lambda ranks: (
            ranks.has_short_digest
            and ranks.varying_bits >= FLOAT32_BITS
            and any("float32" in facts["formats"] for facts in ranks.reports)
        ),
        expected="a digest of 32 bits or more",
        measured="{varying_bits} bits that change with the weights",
    ),
    Misconception(
        "digest_too_short",
        "You send a digest of {varying_bits} bits, which other weights may share. Send more of its bytes.",
        shown_by=lambda ranks: ranks.has_short_digest,
        expected="a digest of 32 bits or more",
        measured="{varying_bits} bits that change with the weights",
    ),
)
