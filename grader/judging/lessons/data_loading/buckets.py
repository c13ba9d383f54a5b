"""Judges batches of rows of similar length by what they hold, for several seeds and epochs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from grader.judging.misconceptions import Misconception, Table
from grader.lessons.data_loading.buckets import CALLS, Batches, BucketCase, bucket_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

VISIBLE_SEED = 0
SLACK = 0.25  # of the way from pooled to random batches: an answer draws other pools than the reference
LEAST = 0.6  # of the padding of such pools: sorting all rows leaves about 0.2, and no draw of pools less than 0.75
DRAWS = 6  # of each kind that are averaged
FIRST, AGAIN, SECOND, _, OTHER_SEED = range(len(CALLS))


def bucket_batches(lengths: Sequence[int], rows: int, pool: int, seed: int, epoch: int) -> Batches:
    """Return the batches of one epoch."""
    draw = random.Random(f"{seed} {epoch}")
    order = list(range(len(lengths)))
    draw.shuffle(order)
    batches = []
    for start in range(0, len(order), pool * rows):
        near = sorted(order[start : start + pool * rows], key=lambda row: -lengths[row])
        batches += [near[first : first + rows] for first in range(0, len(near), rows)]
    draw.shuffle(batches)
    return batches


def padding(batches: Batches, lengths: Sequence[int]) -> int:
    """Return the padding of batches, in tokens."""
    return sum(
        len(batch) * max(lengths[row] for row in batch) - sum(lengths[row] for row in batch) for batch in batches
    )


@lru_cache(maxsize=64)
def usual_padding(case: BucketCase) -> tuple[float, float]:
    """Return the padding of random batches, and of batches from sorted pools, each a mean over several draws."""
    draws = [[bucket_batches(case.lengths, case.rows, pool, 99, at) for at in range(DRAWS)] for pool in (1, case.pool)]
    at_random, pooled = (sum(padding(one, case.lengths) for one in drawn) / DRAWS for drawn in draws)
    return at_random, pooled


@dataclass(frozen=True)
class Buckets:
    """What was answered for one data set.

    Attributes:
        case: The data set.
        answers: The batches of each call.
        is_moved: Whether the global random state moved.
    """

    case: BucketCase
    answers: list[Batches]
    is_moved: bool

    @cached_property
    def counts(self) -> list[Counter[int]]:
        """How often each row occurs, of each call."""
        return [Counter(row for batch in batches for row in batch) for batches in self.answers]

    @cached_property
    def lost(self) -> int:
        """The rows that the worst call leaves out."""
        return max(sum(row not in count for row in range(self.case.count)) for count in self.counts)

    @property
    def repeated(self) -> int:
        """The rows that the worst call holds in excess."""
        return max(sum(count.values()) - len(count) for count in self.counts)

    @property
    def unknown(self) -> list[int]:
        """Numbers that are no rows."""
        return sorted({row for count in self.counts for row in count if not 0 <= row < self.case.count})[:3]

    @property
    def largest(self) -> int:
        """Rows of the largest batch."""
        return max((len(batch) for batches in self.answers for batch in batches), default=0)

    @property
    def short(self) -> int:
        """Batches with fewer rows than they should have, of the worst call."""
        return max(sum(len(batch) < self.case.rows for batch in batches) for batches in self.answers)

    @property
    def fewest_short(self) -> int:
        """Short batches that cannot be avoided."""
        return int(self.case.count % self.case.rows > 0)

    def sets(self, call: int) -> set[frozenset[int]]:
        """The batches of a call, whatever their order."""
        return {frozenset(batch) for batch in self.answers[call]}

    @property
    def kept_together(self) -> float:
        """Which share of the first epoch's batches occurs in the second, too."""
        return len(self.sets(FIRST) & self.sets(SECOND)) / max(1, len(self.sets(FIRST)))

    @property
    def runs(self) -> float:
        """Which share of neighbouring batches goes on falling, or on rising, in length: about half by chance."""
        longest = [max((self.case.lengths[row] for row in batch), default=0) for batch in self.answers[FIRST]]
        falls = [first >= second for first, second in pairwise(longest)]
        return max(sum(falls), len(falls) - sum(falls)) / max(1, len(falls))

    @cached_property
    def padding(self) -> float:
        """Padding of a call, a mean over all of them."""
        return sum(padding(batches, self.case.lengths) for batches in self.answers) / len(self.answers)

    @property
    def most_padding(self) -> float:
        """The most padding that is accepted."""
        at_random, pooled = usual_padding(self.case)
        return pooled + SLACK * (at_random - pooled)

    @property
    def least_padding(self) -> float:
        """The least padding that pools of the right size leave."""
        return LEAST * usual_padding(self.case)[1]

    @property
    def are_lengths(self) -> bool:
        """Whether the numbers are the lengths of the rows."""
        return all(count == Counter(self.case.lengths) for count in self.counts)

    @property
    def are_places(self) -> bool:
        """Whether the numbers count the rows of a pool."""
        return all(max(count, default=0) < self.case.pool * self.case.rows for count in self.counts)

    @property
    def is_random(self) -> bool:
        """Whether the padding is that of random batches."""
        at_random, pooled = usual_padding(self.case)
        return self.padding > at_random - SLACK * (at_random - pooled)


def judge_bucket_batches(observation: Observation, seed: int) -> Verdict:
    """Judge the rows, then what is drawn, then the padding."""
    found: list[Buckets] = [
        Buckets(case, run["answers"], run["moved"])
        for case, run in zip(bucket_cases(seed), observation.facts["runs"], strict=True)
    ]
    for buckets in found:
        verdict = TABLE.judge(buckets)
        if verdict:
            return verdict
    shares = [f"{buckets.padding / usual_padding(buckets.case)[0]:.0%}" for buckets in found]
    return Verdict(PASSED, "", f"every row once in {len(CALLS)} epochs; {', '.join(shares)} of the padding at random")


def _is_visible(buckets: Buckets) -> bool:
    visible = bucket_cases(VISIBLE_SEED)[0]
    return all(set(count) == set(range(visible.count)) for count in buckets.counts) and bool(
        buckets.lost or buckets.unknown
    )


def _own(text: str) -> dict[str, Any]:
    return {"expected": "each of {case.count} rows in one batch", "measured": text}


EACH_EPOCH = "other batches for another epoch or seed, and the same ones for the same numbers"
PADDING = "at most {most_padding:,.0f} tokens of padding, from pools of {case.pool} batches of {case.rows} rows"

TABLE = Table[Buckets](
    Misconception(
        "visible_case_hard_coded",
        "You return batches of 203 rows, as the notebook has them, whatever the data set is. Count the lengths.",
        shown_by=_is_visible,
        **_own("rows 0 to 202"),
    ),
    Misconception(
        "lengths_returned",
        "You return the lengths of the rows. Return row numbers: sort these, with their length as the key.",
        shown_by=lambda buckets: buckets.are_lengths,
        **_own("the lengths of these rows"),
    ),
    Misconception(
        "places_in_the_pool",
        "You return places within a pool, all below pool * rows. Look the row numbers up in the shuffled order.",
        shown_by=lambda buckets: buckets.lost > 0 and buckets.are_places,
        **_own("{lost} rows missing, {repeated} repeated"),
    ),
    Misconception(
        "no_row_of_the_data",
        "You return numbers that are no rows of this data set. Rows are numbered from 0 to len(lengths) - 1.",
        shown_by=lambda buckets: bool(buckets.unknown),
        **_own("rows {unknown}"),
    ),
    Misconception(
        "tail_dropped",
        "You drop the rows that do not fill a batch. Keep the last batch, although it is short.",
        shown_by=lambda buckets: 0 < buckets.lost <= buckets.case.rows and not buckets.repeated,
        **_own("{lost} rows missing in an epoch"),
    ),
    Misconception(
        "rows_lost",
        "You lose rows: those of a last pool that is not full, or all but one of those that have the same length.",
        shown_by=lambda buckets: buckets.lost > 0 and not buckets.repeated,
        **_own("{lost} rows missing in an epoch"),
    ),
    Misconception(
        "rows_drawn_with_replacement",
        "You draw rows with replacement: some come twice and others never. Shuffle all rows, and deal them out.",
        shown_by=lambda buckets: buckets.lost > 0,
        **_own("{lost} rows missing, {repeated} repeated"),
    ),
    Misconception(
        "tail_filled_up",
        "You fill the last batch with rows that the epoch has already. They count twice then. Leave it short.",
        shown_by=lambda buckets: buckets.repeated > 0,
        **_own("{repeated} rows more than once"),
    ),
    Misconception(
        "whole_pool_as_a_batch",
        "You return batches of more than `rows` rows. Cut each pool into batches.",
        shown_by=lambda buckets: buckets.largest > buckets.case.rows,
        expected="batches of {case.rows} rows",
        measured="a batch of {largest}",
    ),
    Misconception(
        "several_short_batches",
        "You leave more than one batch short. A pool has pool * rows rows, and each batch that you cut from it exactly "
        "`rows`, so that only the last pool has a rest.",
        shown_by=lambda buckets: buckets.short > buckets.fewest_short,
        expected="{fewest_short} batches with fewer than {case.rows} rows",
        measured="{short} in one epoch",
    ),
    Misconception(
        "global_random_state",
        "You draw from a generator that `seed` and `epoch` do not fix, such as the global one: the ranks of a job "
        "would return different batches. Draw from `draw`.",
        shown_by=lambda buckets: buckets.answers[FIRST] != buckets.answers[AGAIN],
        expected=EACH_EPOCH,
        measured="two calls with seed 7 and epoch 0 differ",
    ),
    Misconception(
        "global_seed_set",
        "You seed the global random state, which resets dropout and whatever else draws from it. Make a generator of "
        "your own.",
        shown_by=lambda buckets: buckets.is_moved,
        expected="the global random state as it was",
        measured="it moved",
    ),
    Misconception(
        "only_the_order_of_batches_changes",
        "You put the same rows together in every epoch. Shuffle the rows before you cut pools, and sort within a pool.",
        shown_by=lambda buckets: buckets.kept_together > 0.5 and buckets.answers[FIRST] != buckets.answers[SECOND],
        expected="other rows together in another epoch",
        measured="{kept_together:.0%} of the batches are the same",
    ),
    Misconception(
        "epoch_ignored",
        "You return the same batches in every epoch. Use `epoch` for the generator's seed, too.",
        shown_by=lambda buckets: (
            buckets.answers[FIRST] == buckets.answers[SECOND] and buckets.answers[FIRST] != buckets.answers[OTHER_SEED]
        ),
        expected=EACH_EPOCH,
        measured="epochs 0 and 1 are equal",
    ),
    Misconception(
        "never_shuffled",
        "You shuffle nothing: each seed and epoch gives the same batches. Draw an order of the rows first.",
        shown_by=lambda buckets: buckets.answers[FIRST] == buckets.answers[SECOND],
        expected=EACH_EPOCH,
        measured="all epochs are equal",
    ),
    Misconception(
        "seed_ignored",
        "You return the same batches for every seed. Use `seed` for the generator, too.",
        shown_by=lambda buckets: buckets.answers[FIRST] == buckets.answers[OTHER_SEED],
        expected=EACH_EPOCH,
        measured="seeds 7 and 8 are equal",
    ),
    Misconception(
        "not_sorted_by_length",
        "You put rows of all lengths into one batch. Sort each pool of pool * rows rows by `lengths`, and cut it into "
        "batches in that order.",
        shown_by=lambda buckets: buckets.is_random,
        expected=PADDING,
        measured="{padding:,.0f} tokens, as with random batches",
    ),
    Misconception(
        "pools_too_small",
        "You sort too few rows at a time. A pool holds the rows of `pool` batches: pool * rows.",
        shown_by=lambda buckets: buckets.padding > buckets.most_padding,
        expected=PADDING,
        measured="{padding:,.0f} tokens",
    ),
    Misconception(
        "pools_too_large",
        "You sort more rows at a time than a pool holds, perhaps all, so the same rows meet in every epoch. Cut pools "
        "of pool * rows rows, and sort each on its own.",
        shown_by=lambda buckets: buckets.padding < buckets.least_padding,
        expected="at least {least_padding:,.0f} tokens of padding, from pools of {case.pool} batches of {case.rows} "
        "rows",
        measured="{padding:,.0f} tokens",
    ),
    Misconception(
        "batches_in_order_of_length",
        "You return the batches of a pool in the order of their lengths, so the model sees all long rows, then all "
        "short ones. Shuffle the batches at the end.",
        shown_by=lambda buckets: buckets.runs > 0.75,
        expected="batches in an order that does not follow their lengths",
        measured="{runs:.0%} of the batches are no longer, or no shorter, than the one before",
    ),
)
