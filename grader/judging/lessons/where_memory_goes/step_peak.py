"""Judges the predicted peak of one update of a chain."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judging.lessons.where_memory_goes.byte_counts import format_byte_count
from grader.judging.lessons.where_memory_goes.step_explanations import Explanation, Form, explain
from grader.judging.lessons.where_memory_goes.step_patterns import BYTES, find_pattern, find_unit
from grader.judging.lessons.where_memory_goes.step_pieces import Change
from grader.judging.lessons.where_memory_goes.step_sizes import OtherSizes, bytes_of
from grader.judging.lessons.where_memory_goes.step_truth import peak_is_in_update, true_peak
from grader.lessons.where_memory_goes.step_peak import ChainStep, step_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

_OTHERWISE = (
    "You count other pieces than those that are held. "
    "For each of the two moments, go through the list of pieces and tick those that are alive."
)


def judge_step_peak(observation: Observation, seed: int) -> Verdict:
    """Compare every prediction with the forecast chain, and name what explains a miss."""
    cases, answers = step_cases(seed), observation.facts["predicted_bytes"]
    hits = [answer == true_peak(case) for case, answer in zip(cases, answers, strict=True)]
    if all(hits):
        return Verdict(PASSED, f"{len(cases)} peaks to the byte", f"{len(cases)} peaks, each to the byte")
    failed = hits.index(False)
    case, answer = cases[failed], answers[failed]
    code, says, look_at = _explain(cases, answers, case)
    measured = "; ".join(part for part in (_say_miss(answer, true_peak(case)), says, _say_hits(cases, hits)) if part)
    return Verdict(code, f"{format_byte_count(true_peak(case))} for {_describe(case)}", measured, look_at)


def _explain(cases: Sequence[ChainStep], answers: Sequence[float], missed: ChainStep) -> tuple[str, str, str]:
    """Return the code, what was found, and where to look."""
    found = explain(cases, answers)
    if found:
        return _say_explanation(found, missed)
    unit = find_unit(cases, answers)
    if unit:
        return unit
    in_bytes = explain(cases, [4 * answer for answer in answers])
    if in_bytes:
        return "elements_for_bytes", f"in elements, {_say_explanation(in_bytes, missed)[1]}", BYTES
    return find_pattern(cases, answers) or (UNRECOGNISED, "", _OTHERWISE)


def _say_explanation(explanation: Explanation, missed: ChainStep) -> tuple[str, str, str]:
    mistakes = explanation.mistakes
    says = ", ".join(_say_mistake(mistake, missed) for mistake in mistakes)
    if len(mistakes) == 1 or explanation.form.code:
        return mistakes[0].code, says, mistakes[0].look_at
    return "several_pieces", says, " ".join(dict.fromkeys(mistake.look_at for mistake in mistakes))


def _say_mistake(mistake: Form | OtherSizes | Change, missed: ChainStep) -> str:
    if not isinstance(mistake, Change) or not mistake.says.startswith(("missing", "too much")):
        return mistake.says
    moments = (mistake.update, mistake.backward) if peak_is_in_update(missed) else (mistake.backward, mistake.update)
    return f"{mistake.says}, {abs(bytes_of(moments[0] or moments[1], missed)):,.0f} bytes"


def _say_miss(answer: float, truth: int) -> str:
    return f"{format_byte_count(answer)}, {abs(answer - truth):,.0f} {'too many' if answer > truth else 'too few'}"


def _say_hits(cases: Sequence[ChainStep], hits: Sequence[bool]) -> str:
    """Describe for which chains the answers are right."""
    of_update = [hit for case, hit in zip(cases, hits, strict=True) if peak_is_in_update(case)]
    of_backward = [hit for case, hit in zip(cases, hits, strict=True) if not peak_is_in_update(case)]
    if all(of_backward):
        return "right for the large batches, where the peak is in backward"
    if all(of_update):
        return "right for the small batches, where the peak is in the update"
    return f"right for {sum(hits) or 'none'} of {len(hits)} chains"


def _describe(case: ChainStep) -> str:
    place = "the update" if peak_is_in_update(case) else "backward"
    blocks = f"{case.blocks} block{'s' if case.blocks > 1 else ''}"
    return f"{blocks}, width {case.width}, hidden {case.hidden}, batch {case.batch}: the peak is in {place}"
