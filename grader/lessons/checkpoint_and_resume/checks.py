"""Checks of lesson 24: checkpoint and resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.lessons.checkpoint_and_resume.forms import forms_case, observe_form, run_accelerate, run_trainer
from grader.lessons.checkpoint_and_resume.parts import PARTS, run_cases, run_parts
from grader.lessons.checkpoint_and_resume.saving import observe_kills, observe_order, save_cases
from grader.lessons.checkpoint_and_resume.shares import run_reshard, shares_cases
from grader.lessons.checkpoint_and_resume.training import observe_runs, observe_states, state_case, training_cases
from grader.observation import Observation
from grader.observing.contract import fail
from grader.observing.running import make_check

TRAIN_UNTIL = ("model", "optimizer", "scheduler", "generator", "dataset", "rows", "k", "updates", "state")


@make_check("train_until", TRAIN_UNTIL)
def check_resumed_run(train_until: Callable[..., Any], seed: int) -> Observation:
    """Interrupt three runs, and record what differs from the uninterrupted ones."""
    runs, tensors = [], {}
    for index, case in enumerate(training_cases(seed)):
        facts, tensors[f"weights.{index}"] = observe_runs(train_until, case)
        runs.append(facts)
    return Observation({"runs": runs}, tensors)


@make_check("train_until", TRAIN_UNTIL)
def check_saved_state(train_until: Callable[..., Any], seed: int) -> Observation:
    """Measure two states of one run, and train on after the first."""
    return Observation(observe_states(train_until, state_case(seed)))


@make_check("save_atomically", ("path", "write"))
def check_killed_saves(save_atomically: Callable[..., Any], seed: int) -> Observation:
    """Kill saves at bytes, and look at the file between all calls."""
    return Observation({"saves": [observe_kills(save_atomically, case) for case in save_cases(seed)]})


@make_check("save_atomically", ("path", "write"))
def check_saved_order(save_atomically: Callable[..., Any], seed: int) -> Observation:
    """Record the order of the calls, and let a save fail."""
    return Observation({"saves": [observe_order(save_atomically, case) for case in save_cases(seed)]})


ACCELERATE = ("accelerator", "model", "optimizer", "scheduler", "loader", "epochs", "folder")


@make_check("train_with_accelerate", ACCELERATE)
def check_resumed_accelerate(train_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Kill three runs with Accelerate, and record what goes on from their folders."""
    return Observation(observe_form(run_accelerate, train_with_accelerate, forms_case(seed)))


@make_check("train_with_trainer", ("model", "examples", "arguments", "every", "folder"))
def check_resumed_trainer(train_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Kill three runs of the Trainer, and record what goes on from their folders."""
    return Observation(observe_form(run_trainer, train_with_trainer, forms_case(seed)))


@make_check("parts_needed", ("run",))
def check_parts_needed(parts_needed: Callable[..., Any], seed: int) -> Observation:
    """Ask for the parts of nine runs."""
    answers = [run_parts(lambda run: require_parts(parts_needed(run)), run) for run in run_cases(seed)]
    return Observation({"answers": answers})


def require_parts(value: Any) -> Any:
    """Fail unless a value is a set, or another collection, of the parts' names."""
    names = f"a set of names out of {', '.join(PARTS)}"
    if not isinstance(value, set | frozenset | list | tuple):
        fail("no_set_returned", names, type(value).__name__, "Your answer has another form. Return a set of names.")
    if not set(value) <= set(PARTS):
        others = sorted(str(name) for name in set(value) - set(PARTS))
        look_at = "You name a part that the contract does not know. Compare the names letter by letter."
        if others == ["weights"]:
            look_at = "You name the weights, which are always saved. Name the parts besides them."
        fail("unknown_part", names, ", ".join(others), look_at)
    return value


@make_check("reshard", ("read", "elements", "old_ranks", "ranks", "rank"))
def check_resharded(reshard: Callable[..., Any], seed: int) -> Observation:
    """Ask for the share of each rank in five checkpoints."""
    return Observation({"answers": [run_reshard(reshard, case) for case in shares_cases(seed)]})
