"""Judges runs with Accelerate and with the Trainer that go on after a kill."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grader.judging.misconceptions import Misconception, Table
from grader.lessons.checkpoint_and_resume.forms import EVERY, FormsCase, forms_case
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

INPUTS, WEIGHTS, GENERATOR = 0, 1, 2  # of a forward pass


def judge_resumed_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the run with Accelerate, which saves after each update."""
    return _judge(observation, forms_case(seed), 1, is_in_trainer=False)


def judge_resumed_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the run of the Trainer, which saves after every few updates."""
    return _judge(observation, forms_case(seed), EVERY, is_in_trainer=True)


def _judge(observation: Observation, case: FormsCase, every: int, *, is_in_trainer: bool) -> Verdict:
    facts = observation.facts
    calls = facts["calls"]
    if not calls["trainer"] if is_in_trainer else not calls["backward"] or calls["trainer"]:
        form = "Trainer.train" if is_in_trainer else "accelerator.backward"
        look_at = f"You train without {form}. Write the run in this form."
        return Verdict("other_form_used", f"a run through {form}", "a run without it", look_at)
    wrong = _judge_whole(case, facts["whole"])
    if wrong:
        return wrong
    for kill, piece in zip(case.kills, facts["pieces"], strict=True):
        resumed = ResumedForm(case, every, kill, facts["whole"], piece)
        if not resumed.is_right:
            return FORMS.explain(
                resumed,
                expected=f"killed at micro-batch {kill}: goes on after update {resumed.saved}, bit for bit equal",
                measured=resumed.measured,
                otherwise="You restore something that counts later than at the first update. Compare the two runs "
                "update by update.",
            )
    return Verdict(PASSED, "", f"{len(case.kills)} kills, each bit of the weights as without them")


def _judge_whole(case: FormsCase, whole: dict[str, Any]) -> Verdict | None:
    """Judge the work of the uninterrupted run."""
    forwards, updates = case.epochs * case.micro_batches, case.epochs * case.updates_per_epoch
    expected = f"without a kill, {forwards} micro-batches and {updates} updates"
    measured = f"{len(whole['forwards'])} micro-batches and {len(whole['steps'])} updates"
    if (len(whole["forwards"]), len(whole["steps"])) != (forwards, updates):
        look_at = "You train for another number of epochs, or on a part of them. Look at the run without a kill first."
        return Verdict("other_run", expected, measured, look_at)
    inputs = [forward[INPUTS] for forward in whole["forwards"]]
    if inputs[: case.micro_batches] == inputs[case.micro_batches : 2 * case.micro_batches]:
        look_at = "You use one order for all epochs. Call set_epoch for each of them."
        return Verdict("one_order_for_all_epochs", "another order in each epoch", "the same order", look_at)
    return None


@dataclass(frozen=True, eq=False)
class ResumedForm:
    """What a run did that went on after a kill.

    Attributes:
        case: The run.
        every: Updates between two saves.
        kill: The forward pass at which the first process was killed, counted from 1.
        whole: The record of the uninterrupted run.
        piece: The record of the run that went on.
    """

    case: FormsCase
    every: int
    kill: int
    whole: dict[str, Any]
    piece: dict[str, Any]

    @property
    def saved(self) -> int:
        """Updates that the newest save has behind it."""
        epoch, place = divmod(self.kill - 1, self.case.micro_batches)
        done = epoch * self.case.updates_per_epoch + place // self.case.k
        return done // self.every * self.every

    @property
    def start(self) -> int:
        """Micro-batches of the whole run before the one that comes next."""
        epoch, update = divmod(self.saved, self.case.updates_per_epoch)
        return epoch * self.case.micro_batches + update * self.case.k

    @property
    def forwards(self) -> list[list[int]]:
        """The forward passes of this process."""
        return list(self.piece["forwards"])

    @property
    def right(self) -> list[list[int]]:
        """The forward passes of the uninterrupted run, from the saved place on."""
        return list(self.whole["forwards"][self.start :])

    @property
    def is_right(self) -> bool:
        """Whether it goes on where it was saved, and ends in the same weights; without a save, it begins again."""
        return len(self.forwards) == len(self.right) and bool(self.piece["is_equal"] or not self.saved)

    @cached_property
    def measured(self) -> str:
        """What differs first."""
        if len(self.forwards) != len(self.right):
            return f"{len(self.forwards)} micro-batches where {len(self.right)} are missing"
        kinds = {WEIGHTS: "other weights", INPUTS: "other rows", GENERATOR: "other dropout masks"}
        for place, (own, right) in enumerate(zip(self.forwards, self.right, strict=True)):
            for kind, what in kinds.items():
                if own[kind] != right[kind]:
                    return f"{what} at micro-batch {place + 1} after the restart"
        return "other weights at the end"

    def differs(self, kind: int) -> bool:
        """Return whether the first forward pass differs in a kind."""
        return bool(self.forwards) and self.forwards[0][kind] != self.right[0][kind]

    def begins_with(self, place: int) -> bool:
        """Return whether it begins with the rows of another place of the uninterrupted run."""
        whole = self.whole["forwards"]
        is_place = 0 <= place < len(whole)
        return bool(self.forwards) and is_place and self.forwards[0][INPUTS] == whole[place][INPUTS]

    @property
    def is_of_another_update(self) -> bool:
        """Whether it starts with the weights that another update of the uninterrupted run left."""
        return self.forwards[0][WEIGHTS] in {forward[WEIGHTS] for forward in self.whole["forwards"]}

    @property
    def epoch_start(self) -> int:
        """Micro-batches before the epoch in which it goes on."""
        return self.start // self.case.micro_batches * self.case.micro_batches

    @property
    def loses_moments(self) -> bool:
        """Whether the optimizer remembers something else at the first update."""
        steps = self.piece["steps"]
        return bool(steps) and steps[0][1] != self.whole["steps"][self.saved][1]

    @property
    def other_rates(self) -> bool:
        """Whether a rate is not that of the same update of the uninterrupted run."""
        own = [step[0] for step in self.piece["steps"]]
        right = [step[0] for step in self.whole["steps"][self.saved :]]
        return any(not math.isclose(one, other, rel_tol=1e-6) for one, other in zip(own, right))  # noqa: B905


FORMS = Table[ResumedForm](
    Misconception(
        "begun_again",
        "You train from the beginning again although the folder has a save. Look for the newest one first.",
        shown_by=lambda run: run.saved > 0 and len(run.forwards) >= len(run.whole["forwards"]) and run.differs(WEIGHTS),
    ),
    Misconception(
        "weights_not_restored",
        "You start from other weights than those that were saved.",
        shown_by=lambda run: run.saved > 0 and run.differs(WEIGHTS) and not run.is_of_another_update,
    ),
    Misconception(
        "older_save_taken",
        "You go on from another save than the newest complete one, or save at other moments than the contract says.",
        shown_by=lambda run: run.saved > 0 and run.differs(WEIGHTS),
    ),
    Misconception(
        "moments_lost",
        "Your optimizer starts without its moments. A save of the model alone cannot be resumed.",
        shown_by=lambda run: run.saved > 0 and run.loses_moments,
    ),
    Misconception(
        "rate_restarted",
        "Your learning rate does not go on where it was. Let the library restore the scheduler, and do not step it "
        "again.",
        shown_by=lambda run: run.saved > 0 and run.other_rates,
    ),
    Misconception(
        "order_of_the_first_epoch",
        "You use the order of the first epoch. Call set_epoch before you iterate, also on what skip_first_batches "
        "returns.",
        shown_by=lambda run: (
            run.differs(INPUTS)
            and run.epoch_start > 0
            and (run.begins_with(run.start - run.epoch_start) or run.begins_with(0))
        ),
    ),
    Misconception(
        "epoch_restarted",
        "You start the epoch again, so its first rows are used twice. Skip what was done.",
        shown_by=lambda run: run.differs(INPUTS) and run.begins_with(run.epoch_start),
    ),
    Misconception(
        "saved_within_a_group",
        "You save in the middle of a group, whose gradients no save of Accelerate holds. Save where "
        "`accelerator.sync_gradients` is true.",
        shown_by=lambda run: (
            run.differs(INPUTS) and any(run.begins_with(run.start + place) for place in range(1, run.case.k))
        ),
    ),
    Misconception(
        "updates_counted_as_micro_batches",
        "You skip as many micro-batches as there have been updates. Each update takes up to k of them.",
        shown_by=lambda run: (
            run.differs(INPUTS) and run.begins_with(run.epoch_start + run.saved % run.case.updates_per_epoch)
        ),
    ),
    Misconception(
        "another_place_of_the_epoch",
        "You go on in the right epoch, but at another place of it.",
        shown_by=lambda run: (
            run.differs(INPUTS)
            and any(run.begins_with(run.epoch_start + place) for place in range(run.case.micro_batches))
        ),
    ),
    Misconception(
        "skipped_in_every_epoch",
        "You skip the first micro-batches of the later epochs, too. They belong to the first epoch after a restart.",
        shown_by=lambda run: not run.differs(INPUTS) and len(run.forwards) < len(run.right),
    ),
    Misconception(
        "trained_too_far",
        "You train more epochs after the restart than are missing. Their number is the total.",
        shown_by=lambda run: len(run.forwards) > len(run.right),
    ),
    Misconception(
        "dropout_drawn_again",
        "You draw other dropout masks. The save has the state of the generators; nothing may draw from them after it "
        "was loaded.",
        shown_by=lambda run: run.differs(GENERATOR),
    ),
    Misconception(
        "order_drawn_again",
        "You use another order than the interrupted epoch had.",
        shown_by=lambda run: run.differs(INPUTS),
    ),
)
