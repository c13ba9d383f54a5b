"""Judges the relative distance of two trained models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE
from grader.judging.kept import keep_cases
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable, hard_coded
from grader.lessons.three_forms.distance import DistanceCase, Models, distance_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

SMALL_MOVEMENT_SCALE = 100  # weights of this size hide a small movement from a tolerance
WELL_CONDITIONED = (0, 1)  # the cases whose differences are large enough for formulas that lose digits

Tensors = list[Tensor]


def relative_distance(model: nn.Module, reference: nn.Module, start: nn.Module) -> float:
    """Return the norm of what model and reference differ by, over that of what the reference moved by."""
    ours, theirs, begun = tensors_of(model), tensors_of(reference), tensors_of(start)
    apart, moved = subtract(ours, theirs), subtract(theirs, begun)
    return norm(apart) / norm(moved)


def tensors_of(model: nn.Module) -> Tensors:
    """Return all parameters of a model, in float64."""
    return [tensor.detach().double() for tensor in model.parameters()]


def subtract(ones: Sequence[Tensor], others: Sequence[Tensor]) -> Tensors:
    """Return the differences of tensors, one by one."""
    return [one - other for one, other in zip(ones, others, strict=True)]


def norm(tensors: Sequence[Tensor], order: float = 2) -> float:
    """Return one norm over all tensors."""
    return float(torch.linalg.vector_norm(flat(tensors), order))


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """Return all tensors in one vector."""
    return torch.cat([tensor.flatten() for tensor in tensors])


# The parts of the reference that misconceptions edit.
RATIO = "norm(apart) / norm(moved)"
TENSORS = "for tensor in model.parameters()"
OWN = "subtract(ours, begun)"
RATIOS = "[norm([one]) / norm([other]) for one, other in zip(apart, moved)]"
ADDED = "sum(norm([one]) for one in {})"


def _ratios(*formulas: str) -> list[dict[str, str]]:
    return [{RATIO: formula} for formula in formulas]


def _tensors(*choices: str) -> list[dict[str, str]]:
    return [{TENSORS: f"for tensor in {choice}"} for choice in choices]


def _run(distance: Callable[..., float], case: DistanceCase) -> float:
    return distance(*_models_of(case))


@keep_cases
def _models_of(case: DistanceCase) -> Models:
    return case.make_models()


TABLE = ReferenceTable(
    (relative_distance, tensors_of),
    Misconception(
        "not_divided",
        "You do not divide by the movement of the reference. The same difference is much after a short training and "
        "little after a long one.",
        variants=_ratios("norm(apart)", "norm(apart) ** 2", "float(flat(apart).square().mean())", "norm(apart, 1)")
        + _ratios("float(flat(apart).abs().mean())", "float(flat(apart).square().mean().sqrt())"),
    ),
    Misconception(
        "divided_by_weights",
        "You divide by the norm of the weights, which does not show how far the training moved them. "
        "Divide by the norm of `reference` - `start`.",
        variants=_ratios("norm(apart) / norm(theirs)", "norm(apart) / norm(begun)", "norm(apart) / norm(ours)"),
    ),
    Misconception(
        "divided_by_own_movement",
        "You divide by the movement of the model. Divide by that of the reference, the same for every model.",
        variants=_ratios(f"norm(apart) / norm({OWN})", f"norm(apart) / (norm({OWN}) + norm(moved))"),
    ),
    Misconception(
        "model_compared_with_start",
        "You subtract the start from the model. Subtract the reference, which it is compared with.",
        variants=_ratios(f"norm({OWN})", f"norm({OWN}) / norm(moved)", f"norm(moved) / norm({OWN})"),
    ),
    Misconception(
        "turned_over",
        "You divide the movement by the difference. Divide the difference by the movement: equal models are 0 apart.",
        {RATIO: "norm(moved) / norm(apart)"},
    ),
    Misconception(
        "root_missing",
        "You leave out a square root: the sum of squares is the square of the norm.",
        variants=_ratios(f"({RATIO}) ** 2", "norm(apart) ** 2 / norm(moved)", "norm(apart) / norm(moved) ** 2"),
    ),
    Misconception(
        "lengths_compared",
        "You take the norm of each model before you subtract. Two vectors of the same length may point anywhere: "
        "subtract first.",
        variants=_ratios(
            f"abs(norm({OWN}) - norm(moved)) / norm(moved)",
            "norm(ours) / norm(theirs)",
            "abs(norm(ours) - norm(theirs)) / norm(moved)",
            "abs(norm(ours) - norm(theirs)) / abs(norm(theirs) - norm(begun))",
        ),
    ),
    Misconception(
        "largest_difference",
        "You take the largest difference and ignore all others. Take the root of the sum of squares.",
        variants=_ratios("norm(apart, torch.inf)", "norm(apart, torch.inf) / norm(moved, torch.inf)"),
    ),
    Misconception(
        "signs_cancel",
        "You add differences with their signs, so they cancel. Square them first.",
        variants=_ratios(
            "abs(float(flat(apart).sum() / flat(moved).sum()))",
            "float(flat(apart).sum() / flat(moved).sum())",
            "abs(float(flat(apart).sum()))",
        ),
    ),
    Misconception(
        "averaged_over_tensors",
        "You compute one ratio for each tensor, so a bias counts as much as a large matrix. "
        "Compute one norm over all parameters together.",
        variants=_ratios(f"sum({RATIOS}) / len(apart)", f"sum({RATIOS})", f"max({RATIOS})"),
    ),
    Misconception(
        "norms_added",
        "You add the norms of the tensors. Add their squares, and take the root at the end.",
        variants=_ratios(
            f"{ADDED} / {ADDED}".format("apart", "moved"),
            f"{ADDED} / norm(moved)".format("apart"),
            f"norm(apart) / {ADDED}".format("moved"),
        ),
    ),
    Misconception("percent_returned", "You return percent. Return the ratio itself.", {RATIO: f"100 * {RATIO}"}),
    Misconception(
        "nearness_returned",
        "You return 1 for equal models. A distance of equal models is 0.",
        {RATIO: f"1 - {RATIO}"},
    ),
    Misconception(
        "epsilon_added",
        "You add a small number to every difference, as pairwise_distance does by default. "
        "Next to a small difference it counts.",
        {RATIO: "norm([flat(apart) + 1e-6]) / norm([flat(moved) + 1e-6])"},
    ),
    Misconception(
        "rounded",
        "You round the result. Two forms that differ only by rounding errors are 1e-6 apart: return every digit.",
        variants=_ratios(*(f"round({RATIO}, {digits})" for digits in range(1, 6))),
    ),
    Misconception(
        "first_parameter_only",
        "You compare the first parameter only. Look for a `return` inside your loop.",
        variants=_tensors("list(model.parameters())[:1]"),
    ),
    Misconception(
        "last_parameter_only",
        "You compare the last parameter only. Look for a `=` in your loop that overwrites the rounds before.",
        variants=_tensors("list(model.parameters())[-1:]"),
    ),
    Misconception(
        "trainable_only",
        "You leave out frozen parameters. If one differs, that is the kind of fault to find: compare all.",
        variants=_tensors("[tensor for tensor in model.parameters() if tensor.requires_grad]"),
    ),
    Misconception(
        "biases_left_out",
        "You leave out biases. Compare all parameters.",
        variants=_tensors(
            "[tensor for tensor in model.parameters() if tensor.dim() > 1]",
            '[tensor for name, tensor in model.named_parameters() if "weight" in name]',
        ),
    ),
    Misconception(
        "buffers_included",
        "You compare buffers, too: state_dict() holds the counts and averages of a BatchNorm. Compare parameters only.",
        variants=_tensors(
            "model.state_dict().values()",
            "[tensor for tensor in model.state_dict().values() if tensor.is_floating_point()]",
        ),
    ),
    hard_coded(distance_cases),
    Misconception(
        "not_finite",
        "You return NaN or infinity. Look for a division by zero, or the root of a negative number.",
        shown_by=lambda answer: not all(map(math.isfinite, answer.values)),
    ),
    Misconception(
        "same_for_all_models",
        "You return the same number for all models. Look at which of the three models enter your result.",
        shown_by=lambda answer: len(set(answer.values)) == 1,
    ),
    run=_run,
    cases=distance_cases,
    is_near=within(relative=RELATIVE_TOLERANCE),
)


@dataclass(frozen=True)
class Outcome:
    """What one call did.

    Attributes:
        facts: The "value" that was returned; or "raised", the name of the error, and its "text".
        setting: "moved", "equal", "untrained" or "unmoved".
        wanted: What is to be returned; None where an error is to be raised.
        expected: The same in words.
        has_large_weights: Whether the movement is small next to the weights.
    """

    facts: Mapping[str, Any]
    setting: str
    wanted: float | None
    expected: str
    has_large_weights: bool = False

    @property
    def raised(self) -> str:
        """Name of the error, or nothing."""
        return str(self.facts.get("raised", ""))

    @property
    def value(self) -> float | None:
        """What was returned."""
        value: float | None = self.facts.get("value")
        return value

    @property
    def is_refused(self) -> bool:
        """Whether an error was raised where a number is to be returned."""
        return bool(self.raised) and self.wanted is not None

    @property
    def is_off(self) -> bool:
        """Whether another number was returned than the wanted one."""
        if self.setting not in ("equal", "untrained") or self.value is None or self.wanted is None:
            return False
        return not abs(self.value - self.wanted) <= RELATIVE_TOLERANCE

    @property
    def is_unmoved_value(self) -> bool:
        """Whether something was returned where the reference has not moved."""
        return self.setting == "unmoved" and not self.raised

    @property
    def measured(self) -> str:
        """What the call did, in words."""
        if self.raised:
            return f"{self.raised}: {self.facts['text']}" if self.facts["text"] else f"a {self.raised} without a text"
        return "None" if self.value is None else f"{self.value:.6g}"


OUTCOMES = Table[Outcome](
    Misconception(
        "models_changed",
        "You change the weights of the models. Look for operations that write into a parameter: their names end in an "
        "underscore.",
        shown_by=lambda outcome: outcome.facts["has_changed_models"],
        expected="three models as they were",
        measured="weights that your function changed",
    ),
    Misconception(
        "divided_by_zero",
        "You divide by 0 although the reference has moved. Look at which norm you divide by.",
        shown_by=lambda outcome: outcome.setting == "moved" and outcome.raised == "ZeroDivisionError",
    ),
    Misconception(
        "small_movement_refused",
        "You take a small movement of large weights for none. Compare the movement with exactly 0, not within a "
        "tolerance.",
        shown_by=lambda outcome: outcome.is_refused and outcome.has_large_weights,
    ),
    Misconception(
        "movement_refused",
        "You raise an error although the reference has moved. Look at the condition in front of it.",
        shown_by=lambda outcome: outcome.is_refused and outcome.setting == "moved",
    ),
    Misconception(
        "equal_models_refused",
        "You raise an error for a model that equals the reference. It is 0 apart: test only whether the reference "
        "moved.",
        shown_by=lambda outcome: outcome.is_refused and outcome.setting == "equal",
    ),
    Misconception(
        "untrained_model_refused",
        "You raise an error for a model with the weights of the start. It is 1 apart: test only whether the reference "
        "moved.",
        shown_by=lambda outcome: outcome.is_refused,
    ),
    Misconception(
        "equal_models_not_0",
        "You do not return 0 for a model that equals the reference. Look at what you subtract or add.",
        shown_by=lambda outcome: outcome.is_off and outcome.setting == "equal",
    ),
    Misconception(
        "untrained_model_not_1",
        "You do not return 1 for a model with the weights of the start. There, both norms are of the same vector.",
        shown_by=lambda outcome: outcome.is_off,
    ),
    Misconception(
        "unmoved_reference_not_raised",
        "You return None where the reference has not moved. A printed line is no error: raise a ValueError.",
        shown_by=lambda outcome: outcome.is_unmoved_value and outcome.value is None,
    ),
    Misconception(
        "unmoved_reference_not_finite",
        "You divide by a movement of 0 and return what comes out. Test for it and raise a ValueError.",
        shown_by=lambda outcome: outcome.is_unmoved_value and not math.isfinite(outcome.value or 0),
    ),
    Misconception(
        "unmoved_reference_zero",
        "You return 0 where the reference has not moved, which says that both models have equal weights. "
        "Raise a ValueError.",
        shown_by=lambda outcome: outcome.is_unmoved_value and not outcome.value,
    ),
    Misconception(
        "unmoved_reference_hidden",
        "You return a number where the reference has not moved, as an epsilon in the divisor does. Raise a ValueError.",
        shown_by=lambda outcome: outcome.is_unmoved_value,
    ),
    Misconception(
        "division_error_raised",
        "You leave the error to Python's division. Test for a movement of 0 and raise a ValueError that explains it.",
        shown_by=lambda outcome: outcome.raised == "ZeroDivisionError",
    ),
    Misconception(
        "other_error_raised",
        "You raise another error than the ValueError that the docstring promises.",
        shown_by=lambda outcome: bool(outcome.raised) and not outcome.facts["is_value_error"],
    ),
    Misconception(
        "error_without_text",
        "You raise a ValueError without a text. Write in it what is wrong with which model.",
        shown_by=lambda outcome: bool(outcome.raised) and not outcome.facts["text"],
    ),
)


def judge_relative_distance(observation: Observation, seed: int) -> Verdict:
    """Compare every distance with the ratio of two norms, then judge the settings at the edge."""
    facts, cases = observation.facts, distance_cases(seed)
    moved = [
        Outcome(outcome, "moved", truth, _describe(case), case.scale > SMALL_MOVEMENT_SCALE)
        for outcome, case, truth in zip(facts["distances"], cases, TABLE.truths(seed), strict=True)
    ]
    no_training = "a ValueError with a text, where the reference has the weights of the start"
    edges = [
        Outcome(facts["equal"], "equal", 0.0, "0, where model and reference have equal weights"),
        Outcome(facts["untrained"], "untrained", 1.0, "1, where the model has the weights of the start"),
        *(Outcome(outcome, "unmoved", None, no_training) for outcome in facts["unmoved"]),
    ]
    changed = [outcome for outcome in (*moved, *edges) if outcome.facts["has_changed_models"]]
    verdict = _judge_outcomes([*changed, *moved]) or _judge_values(moved, seed) or _judge_outcomes(edges)
    measured = f"{len(moved)} distances, of equal weights 0, of an untrained model 1"
    return verdict or Verdict(PASSED, "norm of the difference over norm of the movement", measured)


def _judge_outcomes(outcomes: Sequence[Outcome]) -> Verdict | None:
    verdicts = (OUTCOMES.judge(outcome, outcome.expected, outcome.measured) for outcome in outcomes)
    return next((verdict for verdict in verdicts if verdict), None)


def _judge_values(outcomes: Sequence[Outcome], seed: int) -> Verdict | None:
    answer = TABLE.answer(seed, [float(outcome.facts["value"]) for outcome in outcomes])
    if answer.is_right:
        return None
    first = min(answer.wrong, key=lambda index: math.isfinite(answer.values[index]))  # what is not finite comes first
    return TABLE.explain(
        answer,
        *_well_conditioned(answer),
        expected=outcomes[first].expected,
        measured=outcomes[first].measured,
        otherwise="You divide other norms than those of `model` - `reference` and `reference` - `start`.",
    )


def _well_conditioned(answer: Answer) -> list[Answer]:
    """Return the answer to the cases in which no formula loses its digits, if the first miss is one of them."""
    return [replace(answer, indices=WELL_CONDITIONED)] if answer.wrong[0] in WELL_CONDITIONED else []


def _describe(case: DistanceCase) -> str:
    """Write the distance of a case with the two norms that it is made of."""
    model, reference, start = map(tensors_of, _models_of(case))
    apart, moved = norm(subtract(model, reference)), norm(subtract(reference, start))
    return f"{apart / moved:.6g}: a difference of norm {apart:.4g} over a movement of norm {moved:.4g}"
