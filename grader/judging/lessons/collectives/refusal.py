"""Verdict on what a butterfly does on a number of ranks that is no power of two."""

from __future__ import annotations

from grader.judging.lessons.collectives.counts import say_ranks
from grader.lessons.collectives.reductions import unsupported_ranks
from grader.observation import Observation
from grader.verdict import Verdict


def judge_refusal(observation: Observation, seed: int) -> Verdict | None:
    """Find ranks that do not raise a ValueError at once; None where all do."""
    ranks = unsupported_ranks(seed).world_size
    refused = observation.facts["refused"]
    expected = f"a ValueError on each of {ranks} ranks, before anything is sent"
    line = "the line that refuses numbers of ranks that are no power of two"
    if not refused:
        return Verdict("other_ranks_not_refused", expected, "nothing", line)
    errors = [str(rank["error"]) for rank in refused]
    raising = [number for number, error in enumerate(errors) if error == "ValueError"]
    silent = [number for number, error in enumerate(errors) if error != "ValueError"]
    late = any(rank["messages"] != 0 for rank in refused)
    lost = [(number, rank["named"]) for number, rank in enumerate(refused) if rank["named"] is not None]
    if raising and silent:
        measured = f"a ValueError on {say_ranks(raising)}, and none on {say_ranks(silent)}"
        return Verdict("refused_on_some_ranks", expected, measured, f"{line}: each rank reads the same world_size")
    if lost:
        number, named = lost[0]
        measured = f"no error, and rank {number} meets rank {named}, which is none of {ranks}"
        return Verdict("other_ranks_not_refused", expected, measured, f"{line}: is it there, and does it come first?")
    if silent and not late:
        if any(errors):
            look_at = f"{line}: which exception does it raise?"
            return Verdict("refused_by_other_error", expected, next(filter(None, errors)), look_at)
        return Verdict("refused_in_silence", expected, "no error, and nothing sent", f"{line}: it has to raise")
    if silent:
        measured = next(filter(None, errors), "messages, and no error")
        return Verdict("other_ranks_not_refused", expected, measured, f"{line}: is it there, and does it come first?")
    if late:
        return Verdict("refused_too_late", expected, "messages before the ValueError", f"{line}: does it come first?")
    return None
