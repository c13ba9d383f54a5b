"""Verdicts on which defaults of the Trainer lead a run to other weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from grader.lessons.three_forms.defaults import DEFAULTS, DefaultsCase, defaults_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

Answers = Sequence[Mapping[str, bool]]

LOOK_AT = {
    "every_default_named": "an epoch of one update: can the order of its rows, or a falling learning rate, change it?",
    "no_default_named": "the second update of this run: which rows does it read, and at which learning rate?",
    "answers_inverted": "what True stands for: other weights than those of the raw loop",
    "sampling_always": "one update: which rows does its mean contain, in whichever order they are drawn?",
    "sampling_never": "two updates: does the first still read the same rows when the order is drawn?",
    "sampling_inverted": "what True stands for: other weights. When does an update read other rows?",
    "sampling_decided_by_the_norm": "does the size of a gradient decide which rows an update reads?",
    "sampling_only_with_a_large_norm": "small gradients of other rows: do they move the weights the same way?",
    "sampling_also_with_a_large_norm": "one update with a large gradient: does it read other rows for that?",
    "sampling_threshold": "the smallest number of updates among which rows can change places",
    "clipping_always": "a gradient of norm below 1.0: what does clipping do to it?",
    "clipping_never": "a gradient of norm above 1.0: what is its norm after clipping?",
    "clipping_inverted": "which gradients are scaled down: those above norm 1.0, or those below?",
    "clipping_decided_by_updates": "does clipping look at the gradient, or at the number of updates?",
    "clipping_only_with_several_updates": "one update with a large gradient: is it not clipped?",
    "clipping_also_with_several_updates": "many updates with small gradients: is one of them clipped?",
    "clipping_threshold": "the norm above which a gradient is scaled down",
    "schedule_always": "the only update of an epoch is i = 0 of n = 1: what is 1 - i/n?",
    "schedule_never": "the second of two updates is i = 1 of n = 2: what is 1 - i/n?",
    "schedule_inverted": "what True stands for: other weights. When is 1 - i/n not 1?",
    "schedule_decided_by_the_norm": "what stands in 1 - i/n: is the gradient part of it?",
    "schedule_only_with_a_large_norm": "a smaller learning rate and a small gradient: is the movement the same?",
    "schedule_also_with_a_large_norm": "one update with a large gradient: what is 1 - i/n for i = 0?",
    "schedule_threshold": "the first update at which 1 - i/n is not 1: which i is that, counted from 0?",
}


def judge_breaking_defaults(observation: Observation, seed: int) -> Verdict:
    """Compare every answer with the truth, and name what explains the wrong ones."""
    cases, answers = defaults_cases(seed), observation.facts["answers"]
    expected = "for each default, whether it leads this run to other weights"
    for key in DEFAULTS:
        wrong = [index for index, case in enumerate(cases) if answers[index][key] != leads_elsewhere(case)[key]]
        if not wrong:
            continue
        case, answer = cases[wrong[0]], answers[wrong[0]][key]
        code = _explain_all(cases, answers) or _explain(key, cases, [bool(each[key]) for each in answers])
        expected = f'"{key}" {not answer} for {_say(case)}: the weights end {"the same" if answer else "elsewhere"}'
        measured = f'"{key}" {answer}; "{key}" is wrong for {len(wrong)} of {len(cases)} runs'
        look_at = LOOK_AT.get(code, f"this run, step by step: what does {key} change at its first and last update?")
        if code == "visible_runs_remembered":
            look_at = "a rule in place of a list of runs: every class is graded on runs of its own"
        return Verdict(code, expected, measured, look_at)
    return Verdict(PASSED, expected, f"{len(cases) * len(DEFAULTS)} answers right, {len(DEFAULTS)} for each run")


def leads_elsewhere(case: DefaultsCase) -> dict[str, bool]:
    """Tell for each default, turned on alone, whether the run ends in other weights."""
    has_several, has_large = case.updates > 1, case.largest_gradient_norm > 1.0
    return {"sampling": has_several, "clipping": has_large, "schedule": has_several}


def _explain_all(cases: Sequence[DefaultsCase], answers: Answers) -> str | None:
    """Name what explains the answers for all defaults at once."""
    given = [answer[key] for answer in answers for key in DEFAULTS]
    right = [leads_elsewhere(case)[key] for case in cases for key in DEFAULTS]
    if len(set(given)) == 1:
        return "every_default_named" if given[0] else "no_default_named"
    if all(answer != truth for answer, truth in zip(given, right, strict=True)):
        return "answers_inverted"
    return None


def _explain(key: str, cases: Sequence[DefaultsCase], given: Sequence[bool]) -> str:
    """Name what explains the answers for one default."""
    for code, yielded in _hypotheses(key, cases):
        if given == yielded:
            return code
    own = [case.largest_gradient_norm if key == "clipping" else case.updates for case in cases]
    is_above = [answer for _, answer in sorted(zip(own, given, strict=True))]
    if is_above == sorted(is_above):
        return f"{key}_threshold"
    if is_above == sorted(is_above, reverse=True):
        return f"{key}_inverted"
    return UNRECOGNISED


def _hypotheses(key: str, cases: Sequence[DefaultsCase]) -> Iterator[tuple[str, list[bool]]]:
    """Yield each misconception of one default with the answers that it gives."""
    own = [leads_elsewhere(case)[key] for case in cases]
    other = [leads_elsewhere(case)["sampling" if key == "clipping" else "clipping"] for case in cases]
    rival, extra = ("updates", "several_updates") if key == "clipping" else ("the_norm", "a_large_norm")
    yield f"{key}_always", [True] * len(cases)
    yield f"{key}_never", [False] * len(cases)
    yield f"{key}_inverted", [not truth for truth in own]
    yield f"{key}_decided_by_{rival}", other
    yield f"{key}_only_with_{extra}", [a and b for a, b in zip(own, other, strict=True)]
    yield f"{key}_also_with_{extra}", [a or b for a, b in zip(own, other, strict=True)]
    visible = {case.updates for case in defaults_cases(0)}
    if any(case.updates not in visible for case in cases):
        yield "visible_runs_remembered", [a and case.updates in visible for case, a in zip(cases, own, strict=True)]


def _say(case: DefaultsCase) -> str:
    updates = "1 update" if case.updates == 1 else f"{case.updates} updates"
    return f"{updates}, largest norm {case.largest_gradient_norm:g}"
