"""Judges a run that goes on from a saved state: by what differs first from the uninterrupted run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.checkpoint_and_resume.training import (
    STATE_UPDATES,
    TrainingCase,
    state_case,
    training_cases,
    weights_of,
)
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

MOST_GROWTH_BYTES = 100  # the numbers of a later update may be longer; one number for each update takes 200 or more


def train(model: Any, optimizer: Any, scheduler: Any, generator: Any, dataset: Any, rows: int, k: int, updates: int):  # type: ignore[no-untyped-def]
    """Train without an interruption."""
    done = 0
    while done < updates:
        order = torch.randperm(len(dataset), generator=generator)
        batches = torch.split(order, rows)
        for start in range(0, len(batches), k):
            group = batches[start : start + k]
            if done == updates:
                break
            optimizer.zero_grad()
            for batch in group:
                inputs, targets = dataset[batch]
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
                (loss / len(group)).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            scheduler.step()
            done += 1


def judge_resumed_run(observation: Observation, seed: int) -> Verdict:
    """Judge the uninterrupted run, then each piece of the interrupted one."""
    cases = training_cases(seed)
    answer = TABLE.answer(seed, [observation.tensors[f"weights.{index}"] for index in range(len(cases))])
    if not answer.is_right:
        return TABLE.explain(
            answer,
            expected=f"without an interruption, weights of norm {answer.truth.norm():.5f} ({answer.case.what})",
            measured=f"norm {answer.value.norm():.5f}",
            otherwise="Your run differs before any interruption. Compare it with run_epochs, update by update: the "
            "rows, the rate, and whether dropout is on.",
        )
    for case, facts in zip(cases, observation.facts["runs"], strict=True):
        for place, piece in enumerate(facts["pieces"]):
            resumed = Resumed(case, (0, *case.stops)[place], (*case.stops, case.updates)[place], facts["whole"], piece)
            found = RESUMED.judge(resumed, resumed.expected, resumed.measured)
            if found:
                return found
        if not facts["is_equal"]:
            return RESUMED.explain(
                resumed,
                expected=f"the weights of the uninterrupted run, in each bit ({case.what})",
                measured="other weights",
                otherwise="You restore something that changes later than at the first update. Compare the two runs "
                "update by update.",
            )
    return Verdict(PASSED, "", f"{sum(len(case.stops) for case in cases)} interruptions, each bit as without them")


def judge_saved_state(observation: Observation, seed: int) -> Verdict:
    """Judge whether the state resumes, then what it shares and how large it is."""
    facts = observation.facts
    state = SavedState(facts["bytes"], facts["holds_dataset"], facts["changed"])
    expected = f"a state of the same size after {STATE_UPDATES[0]} and after {STATE_UPDATES[1]} updates, on its own"
    measured = f"{state.early:,} bytes, then {state.late:,}"
    found = STATE.judge(state, expected, measured)
    if found:
        return found
    if not facts["is_equal"]:
        look_at = "Your state does not resume the run, so its size does not count. The check above says what differs."
        case = state_case(seed)
        return Verdict(
            "state_does_not_resume", f"the uninterrupted run's weights ({case.what})", "other weights", look_at
        )
    return Verdict(PASSED, "", f"a state of {state.late:,} bytes, which neither grows nor changes")


@dataclass(frozen=True, eq=False)
class SavedState:
    """What was seen of two states of one run.

    Attributes:
        sizes: Bytes after fewer and after more updates.
        holds_dataset: Whether a tensor of it has the shape of the data set's inputs.
        changed: Whether a state changed when the run that returned it went on.
    """

    sizes: list[int]
    holds_dataset: bool
    changed: bool

    @property
    def early(self) -> int:
        """Bytes of the first state."""
        return self.sizes[0]

    @property
    def late(self) -> int:
        """Bytes of the second state."""
        return self.sizes[1]

    @property
    def growth(self) -> int:
        """Bytes that were added."""
        return self.late - self.early


STATE = Table[SavedState](
    Misconception(
        "state_shared_with_the_live_run",
        "Your state changes when the run goes on: `state_dict()` returns the live tensors themselves. Copy them before "
        "you return.",
        shown_by=lambda state: state.changed,
        expected="a state that keeps its values while the run that returned it trains on",
        measured="other values after one more update",
    ),
    Misconception(
        "state_grows_with_updates",
        "Your state grows by {growth:,} bytes over the updates. Keep what the next update needs, and no history.",
        shown_by=lambda state: state.growth > MOST_GROWTH_BYTES,
    ),
    Misconception(
        "dataset_in_the_state",
        "You keep the data set in the state. The other process has it already; the place within the epoch is enough.",
        shown_by=lambda state: state.holds_dataset,
    ),
)


@dataclass(frozen=True, eq=False)
class Resumed:
    """What one process did, next to the same updates of the uninterrupted run.

    Attributes:
        case: The run.
        start: Updates that were done before.
        end: Updates that are done afterwards.
        whole: The record of the uninterrupted run.
        piece: The record of this process.
    """

    case: TrainingCase
    start: int
    end: int
    whole: dict[str, Any]
    piece: dict[str, Any]

    @property
    def micro_batches(self) -> int:
        """Micro-batches of an epoch."""
        return -(-self.case.examples // self.case.rows)

    @property
    def updates_per_epoch(self) -> int:
        """Updates of an epoch."""
        return -(-self.micro_batches // self.case.k)

    @property
    def epoch(self) -> int:
        """The epoch in which this process goes on."""
        return self.start // self.updates_per_epoch

    @property
    def position(self) -> int:
        """Micro-batches of that epoch that were done before."""
        return self.start % self.updates_per_epoch * self.case.k

    @property
    def first(self) -> int:
        """Micro-batches of the whole run that were done before."""
        return self.epoch * self.micro_batches + self.position

    @property
    def done(self) -> int:
        """Updates that this process made."""
        return len(self.piece["steps"])

    def differs(self, kind: int) -> bool:
        """Return whether the first forward pass differs in inputs (0), weights (1) or the default generator (2)."""
        return bool(
            self.piece["forwards"] and self.piece["forwards"][0][kind] != self.whole["forwards"][self.first][kind]
        )

    @property
    def loses_moments(self) -> bool:
        """Whether the optimizer remembers something else at its first update."""
        return bool(self.piece["steps"]) and self.piece["steps"][0][1] != self.whole["steps"][self.start][1]

    @property
    def rates(self) -> list[float]:
        """The rates of this process."""
        return [step[0] for step in self.piece["steps"]]

    @property
    def right_rates(self) -> list[float]:
        """The rates of the same updates of the uninterrupted run."""
        return [step[0] for step in self.whole["steps"][self.start : self.end]]

    @property
    def first_other(self) -> int | None:
        """The first micro-batch of this process that has other rows, if any."""
        right = [forward[0] for forward in self.whole["forwards"][self.first :]]
        own = [forward[0] for forward in self.piece["forwards"]]
        return next((place for place, pair in enumerate(zip(own, right)) if pair[0] != pair[1]), None)  # noqa: B905

    def begins_at(self, epoch: int, position: int) -> bool:
        """Return whether this process begins with the rows of another place of the uninterrupted run."""
        place = epoch * self.micro_batches + position
        forwards = self.whole["forwards"]
        if self.first_other != 0 or epoch < 0 or not 0 <= place < len(forwards):
            return False
        return bool(self.piece["forwards"][0][0] == forwards[place][0])

    @property
    def started(self) -> int | None:
        """Micro-batches of the right epoch before the one with which this process begins, if it is one of them."""
        places = range(min(self.micro_batches, len(self.whole["forwards"]) - self.epoch * self.micro_batches))
        return next((place for place in places if self.begins_at(self.epoch, place)), None)

    @property
    def extra(self) -> int:
        """Forward passes that its updates do not account for."""
        last = self.end // self.updates_per_epoch * self.micro_batches + self.end % self.updates_per_epoch * self.case.k
        return len(self.piece["forwards"]) - (last - self.first)

    @property
    def expected(self) -> str:
        """What the uninterrupted run does."""
        return f"updates {self.start + 1} to {self.end} as without an interruption ({self.case.what})"

    @property
    def measured(self) -> str:
        """What differs first."""
        if self.done != self.end - self.start:
            return f"{self.done} updates"
        for kind, what in ((1, "other weights"), (0, "other rows"), (2, "another state of the default generator")):
            if self.differs(kind):
                return f"{what} at the first forward pass"
        if self.loses_moments:
            return "another optimizer state at the first update"
        return "a difference after the first update"


RESUMED = Table[Resumed](
    Misconception(
        "state_ignored",
        "You train from the beginning again. Load `state`, and make only the missing updates.",
        shown_by=lambda run: run.start > 0 and run.done == run.end and run.differs(1),
    ),
    Misconception(
        "updates_counted_again",
        "You make {done} more updates where {end} is the total. Count those that the state has behind it.",
        shown_by=lambda run: run.start > 0 and run.done == run.end,
    ),
    Misconception(
        "other_number_of_updates",
        "You make {done} updates in this call. Look at where your count starts, and when it ends.",
        shown_by=lambda run: run.done != run.end - run.start,
    ),
    Misconception(
        "weights_not_restored",
        "You start from other weights than those that were saved. Load them into the model that you are given.",
        shown_by=lambda run: run.differs(1),
    ),
    Misconception(
        "moments_lost",
        "Your optimizer starts without its moments, or with others. Save and load its state as well.",
        shown_by=lambda run: run.loses_moments,
    ),
    Misconception(
        "rate_restarted",
        "Your learning rate does not go on where it was. Save and load the scheduler, which counts updates itself.",
        shown_by=lambda run: run.rates != run.right_rates,
        measured="rates that begin with {rates[0]:.5f}, and differ from those of the uninterrupted run",
    ),
    Misconception(
        "epoch_restarted",
        "You start the epoch again, so its first rows are used twice. Keep the place within the epoch.",
        shown_by=lambda run: run.begins_at(run.epoch, 0),
    ),
    Misconception(
        "finished_epoch_repeated",
        "You repeat the order of the epoch that was over. After its last group, a new order is drawn.",
        shown_by=lambda run: run.position == 0 and run.begins_at(run.epoch - 1, 0),
    ),
    Misconception(
        "updates_counted_as_micro_batches",
        "You skip as many micro-batches as the epoch has had updates. Each update has taken up to k of them.",
        shown_by=lambda run: run.begins_at(run.epoch, run.start % run.updates_per_epoch),
    ),
    Misconception(
        "short_groups_forgotten",
        "You compute the place from all updates times k, but the last group of an epoch may be short. Count the "
        "micro-batches, or the updates of this epoch.",
        shown_by=lambda run: run.begins_at(run.epoch, run.start * run.case.k % run.micro_batches),
    ),
    Misconception(
        "epoch_skipped",
        "You go on with the next epoch, so the rest of this one is never used.",
        shown_by=lambda run: run.begins_at(run.epoch + 1, 0),
    ),
    Misconception(
        "generator_saved_after_the_draw",
        "You keep the place, but draw the next epoch's order: your generator was saved after this epoch's order had "
        "been drawn. Keep its state from before the draw.",
        shown_by=lambda run: run.begins_at(run.epoch + 1, run.position),
    ),
    Misconception(
        "order_of_the_first_epoch",
        "You draw the first epoch's order again. Keep the state that the generator has at the start of each epoch.",
        shown_by=lambda run: run.begins_at(0, run.position),
    ),
    Misconception(
        "forward_without_update",
        "You run the model {extra} times more than your updates take. A forward pass draws dropout masks, so pass over "
        "what was done without running it.",
        shown_by=lambda run: run.extra > 0,
    ),
    Misconception(
        "another_place_of_the_epoch",
        "You go on in the right epoch, but at another place: {started} micro-batches in, where {position} were done.",
        shown_by=lambda run: run.started is not None,
    ),
    Misconception(
        "order_drawn_again",
        "You draw another order than the interrupted epoch had. The state of the generator belongs to the run's state.",
        shown_by=lambda run: run.first_other == 0,
    ),
    Misconception(
        "next_order_not_restored",
        "Your epoch goes on as it should, but the next one has another order. Keep the generator's state, too.",
        shown_by=lambda run: run.first_other is not None and (run.first + run.first_other) % run.micro_batches == 0,
    ),
    Misconception(
        "dropout_drawn_again",
        "You draw other dropout masks. Save and load the default generator: `torch.get_rng_state()`.",
        shown_by=lambda run: run.differs(2),
    ),
)


def _run(function: Any, case: TrainingCase) -> Tensor:
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        parts = case.build(0)
        function(*parts, case.make_dataset(), case.rows, case.k, case.updates)
        return weights_of(parts[0])


ORDER = "order = torch.randperm(len(dataset), generator=generator)"
BATCHES = "batches = torch.split(order, rows)"
STARTS = "for start in range(0, len(batches), k):"
BACKWARD = "(loss / len(group)).backward()"
UPDATE = """            optimizer.step()
            scheduler.step()
            done += 1
"""
GROUPS = """        for start in range(0, len(batches), k):
            group = batches[start : start + k]
"""
DRAWN_AGAIN = """            if start:
                batches = torch.randperm(len(dataset), generator=generator).split(rows)
"""

TABLE = ReferenceTable(
    train,
    Misconception(
        "no_update_made",
        "You never update the model that you are given. Train this one, not a copy, and begin with the first epoch.",
        {"while done < updates:": "while done > updates:"},
    ),
    Misconception(
        "one_update_too_many",
        "You make one update more than was asked for. Look at the comparison that ends your loop.",
        {"while done < updates:": "while done < updates + 1:", "if done == updates:": "if done == updates + 1:"},
    ),
    Misconception(
        "rows_and_k_exchanged",
        "You exchange the rows of a micro-batch and the micro-batches of an update.",
        {"done = 0": "done, rows, k = 0, k, rows"},
    ),
    Misconception(
        "scheduler_stepped_twice",
        "You call the scheduler once more for each update. `run_group` does it already.",
        {UPDATE: UPDATE.replace("scheduler.step()", "scheduler.step()\n            scheduler.step()")},
    ),
    Misconception(
        "optimizer_stepped_twice",
        "You call the optimizer once more for each update. `run_group` does it already.",
        {UPDATE: UPDATE.replace("optimizer.step()", "optimizer.step()\n            optimizer.step()")},
    ),
    Misconception(
        "dropout_switched_off",
        "You train in eval mode, without dropout. Leave the model in train mode.",
        {"done = 0": "done = 0\n    model.eval()"},
    ),
    Misconception(
        "short_group_divided_by_k",
        "You divide the losses of a short last group by k. Its own number of micro-batches counts.",
        {BACKWARD: "(loss / k).backward()"},
    ),
    Misconception(
        "rows_not_shuffled",
        "You take the rows in their order. Each epoch's order is a permutation that the generator draws.",
        {ORDER: "order = torch.arange(len(dataset))"},
    ),
    Misconception(
        "one_order_for_all_epochs",
        "You use one order for all epochs. Each epoch draws its own.",
        {ORDER: "order = torch.randperm(len(dataset), generator=generator.manual_seed(generator.initial_seed()))"},
    ),
    Misconception(
        "order_from_another_generator",
        "You draw the order from the default generator. Pass the one that your function is given.",
        {ORDER: "order = torch.randperm(len(dataset))"},
    ),
    Misconception(
        "short_group_dropped",
        "You leave out the last group of an epoch where it is short.",
        {STARTS: "for start in range(0, len(batches) - k + 1, k):"},
    ),
    Misconception(
        "short_micro_batch_dropped",
        "You leave out the last micro-batch of an epoch where it has fewer rows.",
        {BATCHES: "batches = [batch for batch in order.split(rows) if len(batch) == rows]"},
    ),
    Misconception(
        "epoch_finished_first",
        "You train to the end of the epoch, and beyond the updates that were asked for.",
        {"if done == updates:": "if done == -1:"},
    ),
    Misconception(
        "update_for_each_micro_batch",
        "You make one update per micro-batch. A group of k of them makes one.",
        {STARTS: "for start in range(len(batches)):", "start : start + k": "start : start + 1"},
    ),
    Misconception(
        "one_micro_batch_of_each_group",
        "You use the first micro-batch of each group only. Hand the whole group over.",
        {"start : start + k": "start : start + 1"},
    ),
    Misconception(
        "overlapping_groups",
        "You move on by one micro-batch after each update. A group takes k of them.",
        {STARTS: "for start in range(len(batches)):"},
    ),
    Misconception(
        "order_drawn_for_each_update",
        "You draw a new order for each update, and take its place from another one. An epoch has a single order.",
        {GROUPS: GROUPS.replace("            group = ", DRAWN_AGAIN + "            group = ")},
    ),
    Misconception(
        "no_scheduler_step",
        "You never call the scheduler. It makes one step for each update.",
        {UPDATE: UPDATE.replace("            scheduler.step()\n", "")},
    ),
    Misconception(
        "gradients_not_divided",
        "You add up the losses of a group. Their mean counts: divide by the micro-batches of this group.",
        {BACKWARD: "loss.backward()"},
    ),
    run=_run,
    cases=training_cases,
    is_near=within(relative=1e-4, absolute=1e-4),  # the other process may add in another order
)
