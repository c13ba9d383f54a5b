"""Judges which defaults of the Trainer lead a run to other weights."""

from __future__ import annotations

from grader.judging.misconceptions import Misconception
from grader.judging.references import VISIBLE_SEED, ReferenceTable
from grader.lessons.three_forms.defaults import DEFAULTS, DefaultsCase, defaults_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

VISIBLE_UPDATES = {case.updates for case in defaults_cases(VISIBLE_SEED)}


def leads_elsewhere(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    """Return for each default, turned on alone, whether the run ends in other weights."""
    has_large = largest_gradient_norm > 1.0
    return {"sampling": updates > 1, "clipping": has_large, "schedule": updates > 1}


# The parts of the reference that misconceptions edit.
LARGE = "largest_gradient_norm > 1.0"
SAMPLING, CLIPPING, SCHEDULE = '"sampling": updates > 1', '"clipping": has_large', '"schedule": updates > 1'
OTHERWISE = {
    "sampling": "You decide on sampling by something else. Compare which rows the first update reads, in both orders.",
    "clipping": "You decide on clipping by something else. It changes a gradient of norm above 1.0, and no other.",
    "schedule": "You decide on the schedule by something else. Compute 1 - i/n for each update of this run.",
}

TABLE = ReferenceTable(
    leads_elsewhere,
    Misconception(
        "every_default_named",
        "You answer True for every default. An epoch of one update has the same rows in any order and the whole "
        "learning rate, and a small gradient is not clipped.",
        {SAMPLING: '"sampling": True', CLIPPING: '"clipping": True', SCHEDULE: '"schedule": True'},
    ),
    Misconception(
        "no_default_named",
        "You answer False for every default. Take a run of two updates with a large gradient: look at the rows, the "
        "norm and the learning rate of each update.",
        {SAMPLING: '"sampling": False', CLIPPING: '"clipping": False', SCHEDULE: '"schedule": False'},
    ),
    Misconception(
        "answers_inverted",
        "You answer the opposite question. True means that the run ends in other weights than the raw loop.",
        {
            SAMPLING: '"sampling": updates == 1',
            CLIPPING: '"clipping": not has_large',
            SCHEDULE: '"schedule": updates == 1',
        },
    ),
    Misconception(
        "sampling_always",
        "You say that random sampling always changes the run. A single update reads all rows, in whichever order.",
        {SAMPLING: '"sampling": True'},
    ),
    Misconception(
        "sampling_never",
        "You say that random sampling never changes the run. With two updates, the first one reads other rows.",
        {SAMPLING: '"sampling": False'},
    ),
    Misconception(
        "sampling_decided_by_the_norm",
        "You let the size of the gradient decide on sampling. Whether an update reads other rows depends on the "
        "number of updates.",
        {SAMPLING: '"sampling": has_large'},
        variants=[{SAMPLING: '"sampling": updates > 1 and has_large'}],
    ),
    Misconception(
        "sampling_threshold",
        "You say that two updates are too few for sampling to matter. With two, rows can already change places.",
        {SAMPLING: '"sampling": updates > 2'},
    ),
    Misconception(
        "clipping_always",
        "You say that clipping always changes the run. A gradient of norm below 1.0 stays as it is.",
        {CLIPPING: '"clipping": True'},
    ),
    Misconception(
        "clipping_never",
        "You say that clipping never changes the run. A gradient of norm above 1.0 is scaled down.",
        {CLIPPING: '"clipping": False'},
    ),
    Misconception(
        "clipping_inverted",
        "You say that clipping changes small gradients. It scales down those of norm above 1.0.",
        {CLIPPING: '"clipping": not has_large'},
    ),
    Misconception(
        "clipping_decided_by_updates",
        "You let the number of updates decide on clipping. Clipping looks at the gradient of each update.",
        {CLIPPING: '"clipping": updates > 1'},
    ),
    Misconception(
        "clipping_only_with_several_updates",
        "You say that clipping does not change a run of one update. Its gradient is clipped, too, where it is large.",
        {CLIPPING: '"clipping": updates > 1 and has_large'},
    ),
    Misconception(
        "clipping_threshold",
        "You use another norm than 1.0 as the threshold of clipping.",
        {LARGE: "largest_gradient_norm > 10.0"},
        variants=[{LARGE: "largest_gradient_norm > 1.1"}],
    ),
    Misconception(
        "schedule_always",
        "You say that the schedule always changes the run. The only update of an epoch is i = 0, where 1 - i/n is 1.",
        {SCHEDULE: '"schedule": True'},
    ),
    Misconception(
        "schedule_never",
        "You say that the schedule never changes the run. The second of two updates has i = 1, where 1 - i/n is 1/2.",
        {SCHEDULE: '"schedule": False'},
    ),
    Misconception(
        "schedule_decided_by_the_norm",
        "You let the size of the gradient decide on the schedule. The learning rate 1 - i/n does not depend on it.",
        {SCHEDULE: '"schedule": has_large'},
        variants=[{SCHEDULE: '"schedule": updates > 1 and has_large'}],
    ),
    Misconception(
        "schedule_threshold",
        "You let the schedule begin after two updates. It begins at the second one, which has i = 1, counted from 0.",
        {SCHEDULE: '"schedule": updates > 2'},
    ),
    Misconception(
        "visible_runs_remembered",
        "You list the runs that the notebook's check has shown. Write a rule: other runs are graded.",
        {
            SAMPLING: '"sampling": updates > 1 and updates in VISIBLE_UPDATES',
            SCHEDULE: '"schedule": updates > 1 and updates in VISIBLE_UPDATES',
        },
    ),
    run=lambda decide, case: decide(case.updates, case.largest_gradient_norm),
    cases=defaults_cases,
)


def judge_breaking_defaults(observation: Observation, seed: int) -> Verdict:
    """Compare every answer with the truth, and name what explains the wrong ones of the first default."""
    answers = observation.facts["answers"]
    answer = TABLE.answer(seed, answers)
    expected = "for each default, whether it leads this run to other weights"
    for key in DEFAULTS:
        part = answer.part(key)
        if part.is_right:
            continue
        place = "elsewhere" if part.truth else "the same"
        return TABLE.explain(
            answer,
            part,
            expected=f'"{key}" {part.truth} for {_describe(part.case)}: the weights end {place}',
            measured=f'"{key}" {part.value}; "{key}" is wrong for {len(part.wrong)} of {len(answers)} runs',
            otherwise=OTHERWISE[key],
        )
    return Verdict(PASSED, expected, f"{len(answers) * len(DEFAULTS)} answers right, {len(DEFAULTS)} for each run")


def _describe(case: DefaultsCase) -> str:
    updates = "1 update" if case.updates == 1 else f"{case.updates} updates"
    return f"{updates}, largest norm {case.largest_gradient_norm:g}"
