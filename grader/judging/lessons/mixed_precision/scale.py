"""Judges the predicted loss scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable
from grader.lessons.mixed_precision.scales import ScaleCase, scale_cases, scale_histories
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def scale_after(start_scale: float, growth_interval: int, found_inf: Sequence[bool]) -> float:
    """Return the loss scale after a history, as torch.amp.GradScaler has it."""
    scale, good_updates = start_scale, 0
    for is_inf in found_inf:
        if is_inf:
            scale, good_updates = scale / 2, 0
        else:
            good_updates += 1
            if good_updates == growth_interval:
                scale, good_updates = scale * 2, 0
    return scale


# The parts of the reference that misconceptions edit.
START = "scale, good_updates = start_scale, 0"
LOOP = "for is_inf in found_inf:"
BACK_OFF = "scale, good_updates = scale / 2, 0"
DUE = "good_updates == growth_interval"
GROWTH = "scale, good_updates = scale * 2, 0"

GROWN_FIRST = f"{LOOP}\n        if {DUE}:\n            {GROWTH}"
VISIBLE_HISTORY = "65536.0, 0, 4, [update in (2, 9) for update in range(min(len(found_inf), 14))]"


def judge_predicted_scale(observation: Observation, seed: int) -> Verdict:
    """Compare the scale after every update of four histories, and report the first that differs."""
    answer = TABLE.answer(seed, observation.facts["predicted_scales"])
    if answer.is_right:
        measured = f"{len(answer.values)} scales, along {len(scale_histories(seed))} histories"
        return Verdict(PASSED, "the scale after every update", measured)
    return TABLE.explain(
        answer,
        expected=f"{answer.truth:,.6g} {_describe(answer.case)}",
        measured=f"{answer.value:,.6g}",
        otherwise="Your scales are not those of the three rules above. Go through this history, and write down "
        "the scale and the count of good updates after each update.",
    )


def _describe(case: ScaleCase) -> str:
    infs = [str(update) for update, is_inf in enumerate(case.found_inf) if is_inf]
    history = f"inf at update {', '.join(infs)}" if infs else "no inf"
    start = f"from {case.start_scale:,.0f}, growth after {case.growth_interval}"
    return f"after {len(case.found_inf)} updates ({start}, {history}; counted from 0)"


def _run(scale_after: Callable[..., float], case: ScaleCase) -> float:
    return scale_after(case.start_scale, case.growth_interval, case.found_inf)


TABLE = ReferenceTable(
    scale_after,
    Misconception(
        "scale_never_changes",
        "You return the scale that the history starts with. Halve it at an inf, and double it after so many good "
        "updates in a row.",
        {BACK_OFF: "pass", GROWTH: "pass"},
    ),
    Misconception(
        "visible_case_hard_coded",
        "You return the scales of the history in the notebook, whatever the arguments are. Compute each scale from "
        "`start_scale`, `growth_interval` and `found_inf`.",
        {START: f"scale, good_updates, growth_interval, found_inf = {VISIBLE_HISTORY}"},
        variants=[{"return scale": "return 65536.0"}],
    ),
    Misconception(
        "never_falls",
        "You never lower the scale. An update with inf halves it.",
        {BACK_OFF: "good_updates = 0"},
    ),
    Misconception(
        "infinity_ignored",
        "You treat an update with inf as a good one. It halves the scale and ends the row of good updates.",
        {"if is_inf:": "if False:"},
    ),
    Misconception(
        "infinity_passed_over",
        "You pass over updates with inf. Each of them halves the scale and sets the count of good updates to 0.",
        {BACK_OFF: "pass"},
    ),
    Misconception(
        "count_not_reset",
        "You keep the count of good updates through an inf. Only good updates in a row count, so set it to 0.",
        {BACK_OFF: "scale /= 2"},
    ),
    Misconception(
        "infinity_counted",
        "You count an update with inf as a good one. It sets the count of good updates to 0.",
        {BACK_OFF: f"good_updates += 1; scale, good_updates = (scale, 0) if {DUE} else (scale / 2, good_updates)"},
        variants=[
            {BACK_OFF: f"scale /= 2; good_updates += 1; good_updates = 0 if {DUE} else good_updates"},
            {BACK_OFF: "scale /= 2; good_updates += 1"},
        ],
    ),
    Misconception(
        "count_starts_at_one",
        "You start the count of good updates at 1 after an inf. That update is not a good one: start at 0.",
        {BACK_OFF: "scale, good_updates = scale / 2, 1", DUE: "good_updates >= growth_interval"},
        variants=[{BACK_OFF: "scale, good_updates = scale / 2, 1"}],
    ),
    Misconception(
        "never_recovers",
        "You never raise the scale. After `growth_interval` good updates in a row it doubles.",
        {GROWTH: "pass"},
    ),
    Misconception(
        "count_kept_after_growth",
        "You keep the count of good updates after a growth. It starts at 0 again.",
        {GROWTH: "scale *= 2", DUE: "good_updates >= growth_interval"},
        variants=[{GROWTH: "scale *= 2"}],
    ),
    Misconception(
        "count_starts_at_one_after_growth",
        "You start the count of good updates at 1 after a growth. Start it at 0.",
        {GROWTH: "scale, good_updates = scale * 2, 1", DUE: "good_updates >= growth_interval"},
        variants=[{GROWTH: "scale, good_updates = scale * 2, 1"}],
    ),
    Misconception(
        "grows_too_late",
        "You wait for one good update too many. Compare the count with `growth_interval` by == or >=, not by >.",
        {DUE: "good_updates > growth_interval"},
    ),
    Misconception(
        "grows_too_early",
        "You double the scale one good update too early. Raise the count before you compare it with `growth_interval`.",
        {DUE: "good_updates + 1 >= growth_interval"},
        variants=[{DUE: "good_updates + 1 == growth_interval"}],
    ),
    Misconception(
        "growth_at_the_next",
        "You double the scale at the beginning of the next update. The update that completes the row doubles it.",
        {LOOP: GROWN_FIRST, f"if {DUE}": "if False"},
    ),
    Misconception(
        "grows_every_time",
        "You double the scale after every good update. It takes `growth_interval` of them in a row.",
        {DUE: "True"},
    ),
    Misconception(
        "interval_hard_coded",
        "You double the scale after 4 good updates, whatever `growth_interval` is. Compare the count with the "
        "argument.",
        {DUE: "good_updates == 4"},
    ),
    Misconception(
        "falls_too_far",
        "You divide the scale by 4 at an inf. Halve it once.",
        {BACK_OFF: "scale, good_updates = scale / 4, 0"},
    ),
    Misconception(
        "last_update_forgotten",
        "You return the scale that the last update used. The scale of the next update is asked for.",
        {LOOP: "for is_inf in found_inf[:-1]:"},
    ),
    Misconception(
        "backs_off_from_start",
        "You compute the scale after an inf from `start_scale`. Halve the scale as it is at that update.",
        {BACK_OFF: "scale, good_updates = start_scale, 0"},
        variants=[{BACK_OFF: "scale, good_updates = start_scale / 2, 0"}],
    ),
    Misconception(
        "never_above_start",
        "You never let the scale exceed `start_scale`. It has no upper limit.",
        {GROWTH: "scale, good_updates = min(scale * 2, start_scale), 0"},
        variants=[{"return scale": "return min(scale, start_scale)"}],
    ),
    Misconception(
        "never_below_start",
        "You never let the scale fall below `start_scale`. An inf halves it, wherever it is.",
        {BACK_OFF: "scale, good_updates = max(scale / 2, start_scale), 0"},
        variants=[{"return scale": "return max(scale, start_scale)"}],
    ),
    Misconception(
        "directions_swapped",
        "You double the scale at an inf, or halve it after good updates. A scale that overflows has to fall.",
        {BACK_OFF: "scale, good_updates = scale * 2, 0", GROWTH: "scale, good_updates = scale / 2, 0"},
        variants=[{BACK_OFF: "scale, good_updates = scale * 2, 0"}, {GROWTH: "scale, good_updates = scale / 2, 0"}],
    ),
    Misconception(
        "row_of_infinities_counted_once",
        "You halve the scale once for several infs in a row. Each of them halves it.",
        {
            BACK_OFF: "scale, good_updates = (scale / 2, -1) if good_updates >= 0 else (scale, -1)",
            "good_updates += 1": "good_updates = max(good_updates, 0) + 1",
        },
    ),
    Misconception(
        "grows_by_the_start",
        "You add `start_scale` at a growth. The scale doubles.",
        {GROWTH: "scale, good_updates = scale + start_scale, 0"},
    ),
    Misconception(
        "default_start_scale",
        "You start every history at 65,536, which is PyTorch's default. Start at `start_scale`.",
        {START: "scale, good_updates = 65536.0, 0"},
    ),
    run=_run,
    cases=scale_cases,
)
