"""Judges which parts of a run its checkpoint needs."""

from __future__ import annotations

from typing import Any

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable
from grader.lessons.checkpoint_and_resume.parts import PARTS, run_cases, run_parts
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def parts_needed(run: dict[str, Any]) -> set[str]:
    """Return the parts without which the resumed run is not equal to the bit."""
    is_over = run["micro_batch"] == run["micro_batches"]
    has_steps = run["schedule"] == "warm_up" and run["warm_up"] > 0
    is_needed = {
        "optimizer": run["optimizer"] in ("momentum", "adamw"),
        "scheduler": run["schedule"] == "cosine" or has_steps,
        "scaler": run["precision"] == "fp16",
        "rng": run["dropout"] > 0,
        "order": run["rows"] == "shuffled",
        "position": not is_over,
        "gradients": run["micro_batch"] % run["k"] > 0 and not is_over,
    }
    return {part for part, needed in is_needed.items() if needed}


def judge_parts_needed(observation: Observation, seed: int) -> Verdict:
    """Compare each part in all runs; report the first that differs."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    for name in PARTS:
        part = answer.part(name)
        if part.is_right:
            continue
        return TABLE.explain(
            answer,
            part,
            expected=f"{name}: {_said(part.truth)}, for {_facts(name, part.case)}",
            measured=_said(part.value),
            otherwise="Imagine this run in a new process that has everything except this part. Which number "
            "would differ first?",
        )
    return Verdict(PASSED, "", f"the parts of {len(answer.values)} runs")


def _said(is_needed: bool) -> str:
    return "needed" if is_needed else "not needed"


FACTS = {
    "optimizer": ("optimizer",),
    "scheduler": ("schedule", "warm_up", "update"),
    "scaler": ("precision",),
    "rng": ("dropout", "rows"),
    "order": ("rows", "micro_batch", "micro_batches"),
    "position": ("micro_batch", "micro_batches", "rows"),
    "gradients": ("micro_batch", "k", "micro_batches"),
}


def _facts(part: str, run: dict[str, Any]) -> str:
    return ", ".join(f"{name} {run[name]}" for name in FACTS[part])


OPTIMIZER = 'run["optimizer"] in ("momentum", "adamw")'
SCHEDULER = 'run["schedule"] == "cosine" or has_steps'
SCALER = 'run["precision"] == "fp16"'
RNG = 'run["dropout"] > 0'
ORDER = 'run["rows"] == "shuffled"'
POSITION = '"position": not is_over'
GRADIENTS = 'run["micro_batch"] % run["k"] > 0 and not is_over'

TABLE = ReferenceTable(
    parts_needed,
    Misconception(
        "everything_always_needed",
        "You name every part for every run. Leave out those that would change no number.",
        shown_by=lambda answer: answer.key is None and all(all(value.values()) for value in answer.values),
    ),
    Misconception(
        "nothing_needed",
        "You name no part at all. A new process builds each of them as the first process did at its start.",
        shown_by=lambda answer: answer.key is None and not any(any(value.values()) for value in answer.values),
    ),
    Misconception(
        "state_of_plain_sgd",
        "You save an optimizer that remembers nothing. Look at `state` of plain SGD after a step: it is empty.",
        {OPTIMIZER: "True"},
    ),
    Misconception(
        "momentum_forgotten",
        "You leave out the optimizer of momentum, which keeps a running sum of gradients for each weight.",
        {OPTIMIZER: 'run["optimizer"] == "adamw"'},
    ),
    Misconception(
        "adamw_forgotten",
        "You save the optimizer of momentum only. AdamW keeps two moments for each weight.",
        {OPTIMIZER: 'run["optimizer"] == "momentum"'},
    ),
    Misconception(
        "optimizer_never_needed",
        "You never save the optimizer. Its moments were built over many updates, and a new one starts at zero.",
        {OPTIMIZER: "False"},
    ),
    Misconception(
        "warm_up_that_is_over",
        "You leave the scheduler out once the warm-up is over. A new scheduler counts from 0, and warms up again.",
        {"has_steps = ": 'has_steps = run["update"] < run["warm_up"] and '},
    ),
    Misconception(
        "warm_up_of_no_updates",
        "You save the scheduler of a warm-up that takes no updates. Its rate never changes.",
        {' and run["warm_up"] > 0': ""},
    ),
    Misconception(
        "warm_up_forgotten",
        "You save the scheduler of a cosine only. A warm-up depends on the count of updates, too.",
        {SCHEDULER: 'run["schedule"] == "cosine"'},
    ),
    Misconception(
        "cosine_forgotten",
        "You save the scheduler of a warm-up only. A cosine depends on the count of updates, too.",
        {SCHEDULER: "has_steps"},
    ),
    Misconception(
        "scheduler_of_a_constant_rate",
        "You save a scheduler whose rate never changes.",
        {SCHEDULER: "True"},
    ),
    Misconception(
        "scheduler_never_needed",
        "You never save the scheduler. A new one counts its updates from 0.",
        {SCHEDULER: "False"},
    ),
    Misconception(
        "scaler_for_bf16",
        "You save a loss scale for bf16, which has the exponents of float32 and needs no scale.",
        {SCALER: 'run["precision"] != "float32"'},
    ),
    Misconception(
        "scaler_for_float32",
        "You save a loss scale for float32, which needs none.",
        {SCALER: "True"},
        variants=[{SCALER: 'run["precision"] != "bf16"'}],
    ),
    Misconception(
        "scaler_never_needed",
        "You never save the loss scale. In fp16 it grows and shrinks during the run, and decides which updates are "
        "skipped.",
        {SCALER: "False"},
    ),
    Misconception(
        "rng_for_the_shuffle",
        "You save the default generator for the order of the rows. That order has a generator of its own.",
        {RNG: 'run["dropout"] > 0 or run["rows"] == "shuffled"'},
        variants=[{RNG: 'run["rows"] == "shuffled"'}],
    ),
    Misconception(
        "rng_without_draws",
        "You save the default generator of a run that draws nothing from it: only dropout does here.",
        {RNG: "True"},
    ),
    Misconception(
        "rng_within_an_epoch_only",
        "You save the default generator within an epoch only. Dropout goes on drawing after its end.",
        {RNG: 'run["dropout"] > 0 and not is_over'},
    ),
    Misconception(
        "rng_never_needed",
        "You never save the default generator. Dropout would draw other masks.",
        {RNG: "False"},
    ),
    Misconception(
        "order_within_an_epoch_only",
        "You keep the order's generator only within an epoch. At its end, it still draws the next one.",
        {ORDER: 'run["rows"] == "shuffled" and not is_over'},
    ),
    Misconception(
        "order_at_the_end_only",
        "You keep the order's generator only at the end of an epoch. Within one, the rest of its order is needed.",
        {ORDER: 'run["rows"] == "shuffled" and is_over'},
    ),
    Misconception(
        "order_never_needed",
        "You never keep the generator that shuffles. A new one starts with the order of the first epoch.",
        {ORDER: "False"},
    ),
    Misconception(
        "order_without_a_shuffle",
        "You keep the generator of an order that nothing shuffles.",
        {ORDER: "True"},
    ),
    Misconception(
        "position_of_a_finished_epoch",
        "You keep the place in an epoch that is over. Without a place, the new process starts a new epoch, which is "
        "right here.",
        {POSITION: '"position": True'},
        variants=[{POSITION: '"position": run["micro_batch"] > 0'}],
    ),
    Misconception(
        "position_of_shuffled_rows_only",
        "You keep the place only where rows are shuffled. Rows in order have a place as well.",
        {POSITION: '"position": run["rows"] == "shuffled" and not is_over'},
    ),
    Misconception(
        "position_within_a_group_only",
        "You keep the place only in the middle of a group. The border of a group is a place within the epoch, too.",
        {POSITION: '"position": run["micro_batch"] % run["k"] > 0 and not is_over'},
    ),
    Misconception(
        "position_at_a_border_only",
        "You leave out the place in the middle of a group. The gradients do not say which micro-batch comes next.",
        {POSITION: '"position": run["micro_batch"] % run["k"] == 0 and not is_over'},
    ),
    Misconception(
        "last_micro_batch_taken_for_the_end",
        "You take an epoch for finished one micro-batch early. `micro_batch` counts those that are done.",
        {"is_over = ": 'is_over = run["micro_batch"] == run["micro_batches"] - 1 or '},
    ),
    Misconception(
        "position_never_needed",
        "You never keep the place within the epoch. The new process would start the epoch again.",
        {POSITION: '"position": False'},
    ),
    Misconception(
        "gradients_of_every_place_within_an_epoch",
        "You keep gradients wherever an epoch is not over. At the end of a group they have been used.",
        {GRADIENTS: "not is_over"},
    ),
    Misconception(
        "gradients_after_a_short_group",
        "You keep gradients at the end of an epoch whose last group is short. That group has made its update, too.",
        {GRADIENTS: 'run["micro_batch"] % run["k"] > 0'},
    ),
    Misconception(
        "gradients_always",
        "You keep gradients wherever several micro-batches make an update. At the end of a group they have been used.",
        {GRADIENTS: 'run["k"] > 1'},
    ),
    Misconception(
        "gradients_by_the_size_of_an_epoch",
        "You look at how an epoch ends. Whether a group is unfinished depends on the micro-batches that are done.",
        {GRADIENTS: 'run["micro_batches"] % run["k"] > 0 and not is_over'},
    ),
    Misconception(
        "gradients_by_updates",
        "You look for the middle of a group by the number of updates. `micro_batch` and `k` say where a group ends.",
        {GRADIENTS: 'run["update"] % run["k"] > 0 and not is_over'},
        variants=[{GRADIENTS: 'run["update"] % run["k"] > 0'}],
        same_as=("gradients_by_the_size_of_an_epoch", "gradients_after_a_short_group", "gradients_always"),
    ),
    Misconception(
        "gradients_never_needed",
        "You never keep gradients. Within a group, they hold what its first micro-batches have added.",
        {GRADIENTS: "False"},
    ),
    run=run_parts,
    cases=run_cases,
)
