"""Verdicts on what an average, and an epoch of local SGD, puts into collectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.judging.forms import count
from grader.judging.lessons.local_sgd.evidence import Call, RankEvidence, averages_of, evidence_of
from grader.lessons.local_sgd.averaging import AveragingCase, averaging_cases, vectors_of
from grader.lessons.local_sgd.epochs import ADAMW, MOMENTUM, EpochCase, epoch_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict


def judge_averaged_bytes(observation: Observation, seed: int) -> Verdict:
    """Judge the bytes of one average on every rank."""
    total = 0
    for number, case in enumerate(averaging_cases(seed)):
        for rank, evidence in enumerate(evidence_of(observation, number, case.world_size)):
            calls = [(str(name), int(byte_count)) for name, byte_count in evidence.placed]
            place = f"on rank {rank} of {case.world_size}"
            verdict = _judge_average(case, calls, place) or _judge_barriers(evidence, place)
            if verdict:
                return verdict
            total += sum(byte_count for _, byte_count in calls)
    measured = f"{format_bytes(total)} in all averages of all ranks: each tensor once"
    return Verdict(PASSED, "what can differ between the ranks, all-reduced once", measured)


def _judge_average(case: AveragingCase, calls: Sequence[tuple[str, int]], place: str) -> Verdict | None:
    vectors = {name: one.nbytes for name, one in vectors_of(case.make_model(0)).items()}
    wanted = vectors["trained"] + vectors["statistics"]
    reduced = sum(byte_count for name, byte_count in calls if name == "all_reduce")
    others = sum(byte_count for _, byte_count in calls) - reduced
    expected = f"all-reduces of {wanted:,} bytes {place}: each trained parameter and each floating-point buffer, once"
    if reduced == wanted and not others:
        return None
    measured = f"all-reduces of {reduced:,} bytes" + (f", and {others:,} bytes in other collectives" if others else "")
    if not calls:
        return Verdict("nothing_sent", expected, "no collective", "which call lets a rank know the others?")
    if others:
        names = ", ".join(sorted({name for name, _ in calls} - {"all_reduce"}))
        return Verdict("other_collectives", expected, measured, f"{names}: one all-reduce for each tensor is enough")
    code, look_at = _explain_times(case, calls, wanted) or _explain_average(case, reduced - wanted, vectors)
    return Verdict(code, expected, measured, look_at)


def _judge_barriers(evidence: RankEvidence, place: str) -> Verdict | None:
    if not evidence.facts["barriers"]:
        return None
    measured = f"{count(evidence.facts['barriers'], 'call')} of dist.barrier"
    look_at = "an all-reduce waits for every rank already: a barrier is another collective, for nothing"
    return Verdict("barrier", f"averages alone {place}", measured, look_at)


def _explain_times(case: AveragingCase, calls: Sequence[tuple[str, int]], wanted: int) -> tuple[str, str] | None:
    """Explain bytes that are a multiple of those of an average, or half of them."""
    model, reduced = case.make_model(0), [byte_count for _, byte_count in calls]
    own = [one.nbytes for one in model.parameters() if one.requires_grad]
    own += [one.nbytes for one in model.buffers() if one.is_floating_point()]
    if sorted(reduced) == sorted(2 * byte_count for byte_count in own):
        return "sent_in_double", "eight bytes for each number: in which number format is it sent?"
    if 2 * sum(reduced) == wanted:
        return "sent_in_half", "two bytes for each number: in which number format is it sent?"
    if sum(reduced) > wanted and sum(reduced) % wanted == 0:
        look_at = (
            "one all-reduce for each tensor, of four bytes for each number: what is sent again, or in another format?"
        )
        return "sent_several_times", look_at
    return None


def _explain_average(case: AveragingCase, excess: int, vectors: Mapping[str, int]) -> tuple[str, str]:
    """Explain bytes in excess, or missing, by the tensors that have so many."""
    model = case.make_model(0)
    tied = dict(model.named_parameters())["2.weight"].nbytes if case.is_tied else 0
    counts = sum(one.nbytes for one in model.buffers() if not one.is_floating_point())
    look_at_tied = "the tied weight is one parameter: under how many names does your loop meet it?"
    look_at_frozen = "frozen weights are the same on every rank: why send them?"
    trained = vectors["trained"] + vectors["statistics"]
    look_at_gradients = "as many bytes as the gradients have: are they sent, or only parameters that have one?"
    for size, code, look_at in (
        (vectors["gradients"] - trained, "as_much_as_gradients", look_at_gradients),
        (tied, "tied_weight_sent_twice", look_at_tied),
        (vectors["frozen"], "frozen_sent", look_at_frozen),
        (tied + vectors["frozen"], "tied_twice_and_frozen", f"{look_at_tied} And {look_at_frozen}"),
        (vectors["gradients"], "gradients_sent", "an average of values needs no gradients: why send them?"),
        (counts, "counters_sent", "counters and masks stay as they are: why send them?"),
        (
            -vectors["statistics"],
            "statistics_not_sent",
            "running statistics drift too: which buffers are floating-point?",
        ),
    ):
        if size and excess == size:
            return code, look_at
    if excess < 0:
        return "bytes_missing", f"{-excess:,} bytes are not sent: which tensors does your loop not go through?"
    return "bytes_in_excess", f"{excess:,} bytes more than these tensors have: what else is all-reduced?"


def judge_local_sgd_traffic(observation: Observation, seed: int) -> Verdict:
    """Judge how often the ranks average in an epoch, and that they send nothing else."""
    averages = 0
    for number, case in enumerate(epoch_cases(seed)):
        for rank, evidence in enumerate(evidence_of(observation, number, case.world_size)):
            place = f"on rank {rank} of {case.world_size}, {describe(case)}"
            verdict = _judge_epoch(case, evidence, place) or _judge_barriers(evidence, place)
            if verdict:
                return verdict
        averages += len(averages_of(case))
    measured = f"{averages} averages on 2 and 3 ranks, and no byte besides"
    return Verdict(PASSED, "the bytes of the averages, and no others", measured)


def describe(case: EpochCase) -> str:
    """Say a setting in few words."""
    return f"{case.micro_batches} micro-batches, k = {case.k}, every = {case.every}, {case.optimizer}"


def average_bytes(case: EpochCase) -> int:
    """Return the bytes of one average: parameters, and floating-point buffers."""
    model = case.make_model()
    tensors = [*model.parameters(), *(one for one in model.buffers() if one.is_floating_point())]
    return sum(one.nbytes for one in tensors)


def _judge_epoch(case: EpochCase, evidence: RankEvidence, place: str) -> Verdict | None:
    once, wanted = average_bytes(case), len(averages_of(case))
    sent = sum(call.byte_count for call in evidence.calls)
    if sent == once * wanted:
        return None
    averages = f"{count(wanted, 'average')} of {once:,} bytes"
    expected, measured = f"{averages} {place}", f"{sent:,} bytes, {sent / once:.3g} times an average"
    code, look_at = _explain_epoch(case, evidence.calls, sent, once)
    return Verdict(code, expected, measured, look_at)


def _explain_epoch(case: EpochCase, calls: Sequence[Call], sent: int, once: int) -> tuple[str, str]:
    wanted, parameter_bytes = len(averages_of(case)), sum(one.nbytes for one in case.make_model().parameters())
    after_last = sum(call.byte_count for call in calls if call.updates == case.updates)
    if not sent:
        return "nothing_sent", "who calls average, and after which updates?"
    if after_last == 2 * once and sent == once * (wanted + 1):
        return _explain_end(case)
    before_first = sum(call.byte_count for call in calls if not call.forwards)
    if before_first and sent == before_first + once * wanted:
        return "averaged_at_the_start", "before the first update all ranks are equal: there is nothing to average"
    between = [call for call in calls if call.updates < case.updates and call.forwards == case.boundaries[call.updates]]
    if between and sent - sum(call.byte_count for call in between) == once * wanted:
        return "gradients_sent_too", "no gradient crosses the network: what does your loop all-reduce before a step?"
    more_places = {call.updates for call in calls} - set(averages_of(case))
    if more_places and sent % once == 0:
        return "more_averages", f"after which updates the ranks average: {', '.join(map(str, averages_of(case)))}"
    state = {MOMENTUM: 1, ADAMW: 2}.get(case.optimizer, 0) * parameter_bytes
    if state and sent in (
        wanted * (once + state),
        wanted * (once + state) + 4 * wanted * len(list(case.make_model().parameters())),
    ):
        return "state_sent_too", "the optimizer's state stays on its rank: what else does your loop send?"
    if sent % once == 0:
        more = "more" if sent > once * wanted else "fewer"
        return f"{more}_averages", f"after which updates the ranks average: {', '.join(map(str, averages_of(case)))}"
    return "other_bytes", "what is sent besides the averages, or is missing in them"


def _explain_end(case: EpochCase) -> tuple[str, str]:
    """Explain two averages after the last update: in the settings before, whole groups were followed by one."""
    if case.micro_batches % case.k and not case.updates % case.every:
        look_at = "the end: the short last group is an update too. How many updates came after the last average?"
        return "final_average_twice_after_short_group", look_at
    return "final_average_twice", "the end: if an average has followed the last update already, the ranks agree"
