"""Judges the padding of fixed, dynamic, bucketed and packed batches, in tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable
from grader.lessons.data_loading.padding import METHODS, PaddingCase, padding_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def padding_tokens(lengths: Sequence[int], rows: int, time: int) -> dict[str, float]:
    """Return the padding of each way to make batches."""

    def positions(ordered: Sequence[int]) -> int:
        batches = [ordered[start : start + rows] for start in range(0, len(ordered), rows)]
        return sum(len(batch) * max(batch) for batch in batches)

    tokens = sum(lengths)
    longest_first = sorted(lengths, reverse=True)
    sequences: list[int] = []
    for length in longest_first:
        place = next((at for at, used in enumerate(sequences) if used + length <= time), None)
        if place is None:
            sequences.append(length)
        else:
            sequences[place] += length
    return {
        "fixed": len(lengths) * time - tokens,
        "dynamic": positions(lengths) - tokens,
        "bucketed": positions(longest_first) - tokens,
        "packed": len(sequences) * time - tokens,
    }


def judge_padding_tokens(observation: Observation, seed: int) -> Verdict:
    """Compare the padding of each method, in the order of the table in the lesson."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    for method in METHODS:
        part = answer.part(method)
        if part.is_right:
            continue
        case: PaddingCase = part.case
        place = f"{len(case.lengths)} rows of {min(case.lengths)} to {max(case.lengths)} tokens"
        expected = f"{part.truth:,} tokens of padding, {method} ({place}, {case.rows} in a batch, time {case.time})"
        return TABLE.explain(answer, part, expected=expected, measured=f"{part.value:,}", otherwise=OTHERWISE)
    return Verdict(PASSED, "", f"the padding of {len(METHODS)} methods on {len(answer.values)} data sets")


def _run(padding_tokens: Callable[..., dict[str, float]], case: PaddingCase) -> dict[str, float]:
    return padding_tokens(case.lengths, case.rows, case.time)


OTHERWISE = "Draw all batches of the small case by hand, and count the positions that each row leaves empty."
FIXED = "len(lengths) * time - tokens"
POSITIONS = "len(batch) * max(batch)"
SEARCH = "next((at for at, used in enumerate(sequences) if used + length <= time), None)"
FITTING = "(at for at, used in enumerate(sequences) if used + length <= time)"
PACKED = "len(sequences) * time - tokens"

TABLE = ReferenceTable(
    padding_tokens,
    Misconception(
        "positions_counted",
        "You count all positions. Padding is those that hold no token: subtract the tokens.",
        {"tokens = sum(lengths)": "tokens = 0"},
    ),
    Misconception(
        "share_returned",
        "You return shares of all positions. The answer is a count of tokens.",
        {
            FIXED: "1 - tokens / (len(lengths) * time)",
            "positions(lengths) - tokens": "1 - tokens / positions(lengths)",
            "positions(longest_first) - tokens": "1 - tokens / positions(longest_first)",
            PACKED: "1 - tokens / (len(sequences) * time)",
        },
        variants=[
            {
                FIXED: "(len(lengths) * time - tokens) / (len(lengths) * time)",
                "positions(lengths) - tokens": "(positions(lengths) - tokens) / positions(lengths)",
                "positions(longest_first) - tokens": "(positions(longest_first) - tokens) / positions(longest_first)",
                PACKED: "(len(sequences) * time - tokens) / (len(sequences) * time)",
            }
        ],
    ),
    Misconception(
        "fixed_at_the_longest_row",
        "You pad fixed batches to the longest row of the data. Their width is `time`, which is set before the data is "
        "seen.",
        {FIXED: "len(lengths) * max(lengths) - tokens"},
    ),
    Misconception(
        "one_width_for_all_batches",
        "You pad every batch to the longest row of all. A dynamic batch is as wide as its own longest row.",
        {POSITIONS: "len(batch) * max(ordered)"},
    ),
    Misconception(
        "last_batch_filled",
        "You count the last batch as a full one. It has fewer rows, and no position for those that are missing.",
        {POSITIONS: "rows * max(batch)"},
        variants=[
            {FIXED: "-(-len(lengths) // rows) * rows * time - tokens"},
            {FIXED: "-(-len(lengths) // rows) * rows * time - tokens", POSITIONS: "rows * max(batch)"},
            {PACKED: "-(-len(sequences) // rows) * rows * time - tokens"},
        ],
    ),
    Misconception(
        "last_batch_dropped",
        "You leave out the last batch, which is short. Its padding counts.",
        {POSITIONS: "len(batch) * max(batch) if len(batch) == rows else sum(batch)"},
        variants=[{POSITIONS: "len(batch) * max(batch) if len(batch) == rows else 0"}],
    ),
    Misconception(
        "dynamic_sorted_too",
        "You sort the rows for dynamic batches, too. They take the rows in the order of the data.",
        {"positions(lengths) - tokens": "positions(longest_first) - tokens"},
    ),
    Misconception(
        "bucketed_unsorted",
        "You leave the rows in the order of the data for bucketed batches. Sort them before you cut batches.",
        {"positions(longest_first) - tokens": "positions(lengths) - tokens"},
    ),
    Misconception(
        "shortest_first",
        "You sort the shortest rows first, so that the short last batch holds the longest ones. Put the longest first.",
        {"positions(longest_first) - tokens": "positions(sorted(lengths)) - tokens"},
    ),
    Misconception(
        "rows_cut_when_packed",
        "You divide all tokens by `time` and round up: that cuts rows in two. A row goes into one sequence as a whole.",
        {PACKED: "-(-tokens // time) * time - tokens"},
    ),
    Misconception(
        "no_padding_when_packed",
        "You take packing for free of padding. The end of a sequence stays empty where no row fits.",
        {PACKED: "0"},
    ),
    Misconception(
        "another_sequence_chosen",
        "You put a row into the sequence with the least room for it, or with the most. First-fit takes the first that "
        "has room.",
        {SEARCH: f"max({FITTING}, key=sequences.__getitem__, default=None)"},
        variants=[{SEARCH: f"min({FITTING}, key=sequences.__getitem__, default=None)"}],
    ),
    Misconception(
        "exact_fit_refused",
        "You refuse a row that would fill a sequence exactly. It fits: compare with <=.",
        {"used + length <= time": "used + length < time"},
    ),
    Misconception(
        "visible_case_hard_coded",
        "You return the padding of the example in the notebook, whatever the arguments are. Compute it from `lengths`.",
        {"tokens = sum(lengths)": "lengths, rows, time = (5, 3, 8, 2, 6, 3, 7, 4, 2), 4, 8\n    tokens = sum(lengths)"},
    ),
    Misconception(
        "other_size_of_batches",
        "You give {key} batches another width, or another number of rows. Each is exactly as wide as its own longest "
        "row, which need not be its first one, and the last one has the rows that are left.",
        shown_by=lambda answer: answer.key in ("dynamic", "bucketed"),
    ),
    Misconception(
        "other_number_of_sequences",
        "You open more sequences than first-fit decreasing, or fewer. Pack all rows at once, the longest first, and "
        "try every sequence, from the first one on, before you open a new one.",
        shown_by=lambda answer: answer.key == "packed" and (answer.value - answer.truth) % answer.case.time == 0,
    ),
    Misconception(
        "rows_packed_twice",
        "You return what no number of sequences of `time` positions leaves empty: some row is placed twice or not at "
        "all, or a sequence has another width. Look at what happens after a row has found its place.",
        shown_by=lambda answer: answer.key == "packed",
    ),
    run=_run,
    cases=padding_cases,
)
