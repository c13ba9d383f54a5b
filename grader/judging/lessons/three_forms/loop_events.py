"""Judges what a loop does, in which order, and who moves the weights, before any gradient is compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.forms import count
from grader.judging.misconceptions import Misconception, Table
from grader.judging.updates import places_of_updates
from grader.lessons.three_forms.loop import RunCase
from grader.verdict import Verdict

Facts = Mapping[str, Any]
Tensors = Mapping[str, Tensor]

SHARE_LEFT_OUT = 0.01  # of the elements; fewer may stay where they are by rounding


@dataclass(frozen=True, eq=False)
class Loop:
    """What one run does.

    Attributes:
        case: What is trained on.
        events: Forwards, backwards and updates, in their order.
        seen: Rows of each forward.
        wanted: Rows of each forward of a right run.
        places: How many forwards there are before each update.
        modes: Whether each forward is in train mode.
        is_autocast: Whether a forward is under autocast.
    """

    case: RunCase
    events: Sequence[str]
    seen: list[int]
    wanted: list[int]
    places: list[int]
    modes: Sequence[bool]
    is_autocast: bool

    @property
    def rows(self) -> str:
        """The rows of each forward, in words."""
        return f"{count(len(self.seen), 'forward')}, of {_list(self.seen)} rows" if self.seen else "no forward"

    @property
    def evaluated(self) -> str:
        """How many forwards are in eval mode, in words."""
        return f"{self.modes.count(False)} of {count(len(self.modes), 'forward')}"

    @property
    def updates(self) -> int:
        """How often the optimizer is called."""
        return len(self.places)

    @property
    def accumulated(self) -> int:
        """How many batches make one update, where it is more than one; else 0."""
        n = len(self.wanted)
        ends = {size: {*range(size, n + 1, size)} for size in range(2, n)}
        return next((size for size, own in ends.items() if self.places in (sorted(own), sorted(own | {n}))), 0)


def _forwards(code: str, diagnosis: str, shown_by: Callable[[Loop], bool]) -> Misconception[Loop]:
    """Return a misconception that shows in the rows of the forwards."""
    return Misconception(
        code, diagnosis, shown_by=lambda loop: loop.seen != loop.wanted and shown_by(loop), measured="{rows}"
    )


LOOP = Table[Loop](
    Misconception(
        "eval_mode",
        "You train a model in eval mode, which turns dropout off. Call model.train() before the loop.",
        shown_by=lambda loop: not all(loop.modes),
        expected="the model in train mode in every forward",
        measured="the model in eval mode in {evaluated}",
    ),
    Misconception(
        "autocast_used",
        "You run the forward under autocast, in 16 bits. Compute the loss in float32.",
        shown_by=lambda loop: loop.is_autocast,
        expected="forwards in float32",
        measured="a forward under autocast",
    ),
    _forwards(
        "forward_called_directly",
        "You call model.forward(...), which skips the module's hooks, on which checks and libraries rely. "
        "Call model(...).",
        lambda loop: not loop.seen and ("backward" in loop.events or "update" in loop.events),
    ),
    _forwards(
        "no_forward",
        "You never pass a batch to the model. Look at the body of the loop, and whether it is reached.",
        lambda loop: not loop.seen,
    ),
    _forwards(
        "epoch_repeated",
        "You go through the batches several times. One epoch is asked for.",
        lambda loop: (
            loop.updates > len(loop.wanted) and loop.seen == loop.wanted * (len(loop.seen) // len(loop.wanted))
        ),
    ),
    _forwards(
        "only_first_batch",
        "You train on the first batch only. Look for a `return` or `break` inside the loop.",
        lambda loop: loop.seen == loop.wanted[:1],
    ),
    _forwards(
        "last_batch_dropped",
        "You drop the last batch. It may have fewer rows, and is trained on, too.",
        lambda loop: loop.seen == loop.wanted[:-1],
    ),
    _forwards(
        "two_forwards_each",
        "You run two forwards for each batch. Keep the output of the first.",
        lambda loop: loop.seen == [rows for rows in loop.wanted for _ in range(2)],
    ),
    _forwards(
        "one_row_at_a_time",
        "You update after every single row. Give the loader its batch_size, which is 1 by default.",
        lambda loop: loop.seen == [1] * loop.case.pairs and loop.updates == len(loop.seen),
    ),
    _forwards(
        "other_batch_size",
        "You pass another number of rows to the model than the argument `rows`.",
        lambda loop: loop.seen[0] != loop.wanted[0],
    ),
    _forwards(
        "other_forwards",
        "You skip batches, or run some of them twice. Each batch has one forward.",
        lambda loop: True,
    ),
    Misconception(
        "update_before_backward",
        "You call optimizer.step() before backward(), so the first update has no gradient. Exchange the two lines.",
        shown_by=lambda loop: {"update", "backward"} <= {*loop.events} and _is_first(loop.events, "update", "backward"),
        measured="an update before the first backward",
    ),
    Misconception(
        "updated_twice",
        "You call optimizer.step() more than once for a batch. Look at the lines that call it.",
        shown_by=lambda loop: any(earlier == later for earlier, later in pairwise(loop.places)),
        measured="{updates} updates, some without a batch of their own",
    ),
    Misconception(
        "batches_accumulated",
        "You update once for {accumulated} batches. Each batch makes an update: look for accumulation.",
        shown_by=lambda loop: bool(loop.accumulated),
        measured="{updates} updates, of {accumulated} batches each",
    ),
)


def judge_events(facts: Facts, case: RunCase) -> Verdict | None:
    """Find what is wrong with the forwards, backwards and updates of one run over `case`."""
    events, seen, wanted = facts["events"], list(facts["forward_rows"]), rows_of_forwards(case)
    modes, is_autocast = facts["is_training"], any(facts["is_autocast"])
    in_order = f"{len(wanted)} times forward, backward, update"
    expected = in_order if seen == wanted else f"{count(len(wanted), 'forward')}, of {_list(wanted)} rows"
    return LOOP.judge(Loop(case, events, seen, wanted, places_of_updates(events), modes, is_autocast), expected)


def _is_first(events: Sequence[str], one: str, other: str) -> bool:
    return events.index(one) < events.index(other)


def rows_of_forwards(case: RunCase) -> list[int]:
    """Return the rows of every forward of a right run."""
    return [len(case.rows_of(update)) for update in range(case.updates_per_epoch * case.epochs)]


@dataclass(frozen=True, eq=False)
class Weights:
    """Who moves the weights of one run.

    Attributes:
        formats: The number format of the weights, where it is another than before; else nothing.
        has_backward: Whether backward() is called.
        has_update: Whether the optimizer is called.
        is_moved_early: Whether the weights change before the first update, or without one.
        has_gradient: Whether the first update has a gradient.
        left: How many weights stay at the first update although their gradient is large enough to move them.
        due: How many it is large enough to move.
        is_rest_right: Whether the other weights move as SGD moves them.
    """

    formats: str
    has_backward: bool
    has_update: bool
    is_moved_early: bool
    has_gradient: bool = False
    left: int = 0
    due: int = 0
    is_rest_right: bool = False


WEIGHTS = Table[Weights](
    Misconception(
        "weights_converted",
        "You convert the model to another number format, which rounds its weights. Leave them in float32.",
        shown_by=lambda weights: bool(weights.formats),
        expected="weights in float32",
        measured="weights in {formats}",
    ),
    Misconception(
        "optimizer_not_used",
        "You move the weights yourself. Let optimizer.step() move them.",
        shown_by=lambda weights: weights.is_moved_early,
        measured="weights that changed before or without a call of step()",
    ),
    Misconception(
        "forwards_only",
        "You run the forwards only, so nothing is learnt. Call backward() and optimizer.step() after each.",
        shown_by=lambda weights: not weights.has_update and not weights.has_backward,
        measured="no backward and no update of the model",
    ),
    Misconception(
        "no_backward",
        "You never call backward(), so the optimizer has no gradient.",
        shown_by=lambda weights: weights.has_update and not weights.has_backward and not weights.has_gradient,
        measured="no gradient at any update",
    ),
    Misconception(
        "part_of_the_weights_left_out",
        "You give the optimizer a part of the parameters only. Give it model.parameters().",
        shown_by=lambda weights: weights.left > SHARE_LEFT_OUT * weights.due and weights.is_rest_right,
        expected="at update 1, a movement of every weight that has a gradient",
        measured="{left:,} of {due:,} weights that do not move",
    ),
)


def judge_weights(events: Sequence[str], tensors: Tensors, case: RunCase) -> Verdict | None:
    """Find out whether the optimizer moves the weights, all of them, and whether it has gradients to do so."""
    start = nn.utils.parameters_to_vector(case.make_model().parameters()).detach()
    dtype = tensors["weights.0"].dtype
    formats = "" if dtype == start.dtype else str(dtype).removeprefix("torch.")
    is_moved = bool(formats) or not torch.equal(start, tensors["weights.0"])
    weights = Weights(formats, "backward" in events, "update" in events, is_moved)
    if weights.has_update and not formats:
        weights = _with_first_movement(weights, tensors, case.learning_rate)
    return WEIGHTS.judge(weights, f"{len(rows_of_forwards(case))} times forward, backward, update")


def _with_first_movement(weights: Weights, tensors: Tensors, learning_rate: float) -> Weights:
    before, after, gradient = tensors["weights.0"], tensors["weights.1"], tensors["gradient.0"]
    is_due = learning_rate * gradient.abs() > 1e-6 * before.abs() + 1e-9
    is_left = is_due & (before == after)
    rest = is_due & ~is_left
    movement = compare((before - after)[rest], learning_rate * gradient[rest]) if rest.any() else None
    return replace(
        weights,
        has_gradient=bool(gradient.any()),
        left=int(is_left.sum()),
        due=int(is_due.sum()),
        is_rest_right=movement is not None and movement.relative_error <= 1e-2,
    )


@dataclass(frozen=True, eq=False)
class Movement:
    """What one update moves the weights by, in addition to learning rate times gradient.

    Attributes:
        rest: That addition.
        weights: The weights before.
        before: The movement of the update before; zeros at the first.
    """

    rest: Tensor
    weights: Tensor
    before: Tensor


MOVEMENT = Table[Movement](
    Misconception(
        "weight_decay",
        "You decay the weights. Set weight_decay to 0, as it is in plain SGD.",
        shown_by=lambda movement: compare(movement.rest, movement.weights).residual <= 1e-2,
        measured="a movement towards zero in addition",
    ),
    Misconception(
        "momentum",
        "You use momentum. Leave it at 0, as it is in plain SGD.",
        shown_by=lambda movement: (
            bool(movement.before.any()) and compare(movement.rest, movement.before).residual <= 1e-2
        ),
        measured="the movement before in addition",
    ),
)


def explain_movement(tensors: Tensors, updates: int, learning_rate: float, expected: str) -> Verdict | None:
    """Distinguish momentum and weight decay from other optimizers."""
    for update in range(updates):
        weights = tensors[f"weights.{update}"]
        rest = weights - tensors[f"weights.{update + 1}"] - learning_rate * tensors[f"gradient.{update}"]
        before = tensors[f"weights.{update - 1}"] - weights if update else torch.zeros_like(weights)
        verdict = MOVEMENT.judge(Movement(rest, weights, before), expected)
        if verdict:
            return verdict
    return None


def _list(rows: Sequence[int]) -> str:
    return ", ".join(map(str, rows)) if len(rows) <= 8 else ", ".join(map(str, rows[:6])) + f" ... {rows[-1]}"
