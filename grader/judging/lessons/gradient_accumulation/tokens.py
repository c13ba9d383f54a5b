"""Verdict on gradients accumulated over unequal numbers of tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, Comparison, compare
from grader.judging.group_gradient import mixture
from grader.judging.lessons.gradient_accumulation.token_reference import (
    Known,
    TokenReference,
    gradients_of_other_losses,
    make_reference,
)
from grader.lessons.gradient_accumulation.tokens import TokenCase, token_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict


@dataclass(frozen=True)
class Setting:
    """What was seen of one setting, beside what should be.

    Attributes:
        case: The setting.
        reference: What a right answer yields.
        gradient: The gradient that the model was left with, in one vector.
        loss: The returned loss.
        forward_rows: Rows that each forward saw.
    """

    case: TokenCase
    reference: TokenReference
    gradient: Tensor
    loss: float
    forward_rows: list[int]

    def known(self) -> list[tuple[str, str]]:
        """Return code and advice of every mistake that yields this gradient."""
        mistakes = chain(_known_gradients(self.reference), gradients_of_other_losses(self.case))
        return [(code, look_at) for code, vector, look_at in mistakes if compare(self.gradient, vector).is_equal]


def judge_token_gradients(observation: Observation, seed: int) -> Verdict:
    """Judge the gradient and the returned loss of every setting; the first miss is told."""
    settings = []
    for index, case in enumerate(token_cases(seed)):
        facts, gradient = observation.facts["settings"][index], observation.tensors[f"{index}.gradient"]
        settings.append(Setting(case, make_reference(case), gradient, facts["loss"], facts["forward_rows"]))
    for index, setting in enumerate(settings):
        verdict = _judge_forwards(setting) or _judge_gradient(setting, settings[index + 1 :])
        verdict = verdict or _judge_loss(setting.loss, setting.reference)
        if verdict:
            return verdict
    worst = max(compare(setting.gradient, setting.reference.mean).relative_error for setting in settings)
    measured = f"the gradient of the mean over all target tokens, with a relative error of {worst:.0e}"
    return Verdict(PASSED, f"a relative error of at most {RELATIVE_TOLERANCE:.0e}", measured)


def _judge_forwards(setting: Setting) -> Verdict | None:
    largest = max(len(rows) for rows in setting.case.lengths)
    seen = max(setting.forward_rows, default=0)
    if seen <= largest:
        return None
    expected = f"forwards of at most {largest} rows"
    return Verdict(
        "whole_batch_in_one_forward", expected, f"a forward of {seen} rows", "how many rows the model sees at once"
    )


def _judge_gradient(setting: Setting, later: list[Setting]) -> Verdict | None:
    seen, reference = setting.gradient, setting.reference
    counts = ", ".join(str(count) for count in reference.tokens)
    expected = f"the gradient of the mean loss of all {sum(reference.tokens)} target tokens ({counts})"
    if not bool(seen.any()):
        look_at = "who calls backward(), and who clears the gradients after it"
        return Verdict("no_gradient", expected, "no gradient in the model", look_at)
    if not bool(torch.isfinite(seen).all()):
        look_at = "a micro-batch without target tokens: the mean of nothing is NaN"
        return Verdict("mean_of_no_tokens", expected, "NaN", look_at)
    comparison = compare(seen, reference.mean)
    if comparison.is_equal:
        return None
    measured = f"a gradient that differs from it by {comparison.relative_error:.0%}"
    if comparison.residual <= RELATIVE_TOLERANCE:
        measured = f"exactly {comparison.factor:.4g} times that gradient"
    known = _known(setting, later)
    if known:
        return Verdict(known[0], expected, measured, known[1])
    code, note, look_at = _explain_weights(seen, reference, comparison)
    return Verdict(code, expected, measured + note, look_at)


def _known(setting: Setting, later: list[Setting]) -> tuple[str, str] | None:
    """Return the mistake that yields this gradient, by preference one that yields those of later settings too."""
    known = setting.known()
    for other in later if len(known) > 1 else ():
        codes = {code for code, _ in other.known()}
        known = [(code, look_at) for code, look_at in known if code in codes] or known
    return known[0] if known else None


def _explain_weights(seen: Tensor, reference: TokenReference, comparison: Comparison) -> tuple[str, str, str]:
    """Say by what the sums were divided, where no known mistake explains it."""
    if comparison.residual <= RELATIVE_TOLERANCE:
        divisor = sum(reference.tokens) / comparison.factor
        if divisor > 0.5 and abs(divisor - round(divisor)) < 1e-3:
            note = f", as after a division by {divisor:.0f}"
            return "divided_by_another_count", note, f"a division by {divisor:.0f}: which tokens are counted?"
        look_at = f"which division or product leaves a factor of {comparison.factor:.4g}"
        return "gradient_scaled", "", look_at
    weights = mixture(seen, reference.sums)
    if weights is None:
        return UNRECOGNISED, "", "what each micro-batch's summed loss is divided by"
    note = f"; a token of each micro-batch weighs {', '.join(f'{weight:.3g}' for weight in weights)}"
    return "tokens_weighed_unequally", note, "by what the loss of each micro-batch is divided or multiplied"


def _known_gradients(reference: TokenReference) -> Iterator[Known]:
    sums, tokens, count = reference.sums, reference.tokens, len(reference.sums)
    total, mean, rows = reference.total, reference.mean, sum(reference.rows)
    means = torch.stack([part / max(own, 1) for part, own in zip(sums, tokens, strict=True)]).sum(dim=0)
    running = [sum(tokens[: index + 1]) for index in range(count)]
    so_far = torch.stack([part / max(own, 1) for part, own in zip(sums, running, strict=True)]).sum(dim=0)
    yield "mean_of_means", means / count, "micro-batches with few tokens: does a token weigh the same in each?"
    yield "sum_of_means", means, "each micro-batch gives a mean: what does a sum of means weigh?"
    yield "sum_not_divided", total, "the count of target tokens: by what is the summed loss divided?"
    look_at = "padding: does the count include the positions with target -100?"
    yield "padding_counted", total / (rows * reference.time), look_at
    yield "divided_by_micro_batches", total / count, "a sum over tokens, divided by a number of micro-batches"
    yield "divided_by_rows", total / rows, "a sum over tokens, divided by a number of rows"
    yield "first_count_for_all", total / max(tokens[0], 1), "the count: of which micro-batch is it?"
    yield "last_count_for_all", total / max(tokens[-1], 1), "the count: which micro-batch set it last?"
    yield "count_so_far", so_far, "the count: is it complete before the first backward?"
    look_at = "two divisions: by the tokens, and again by the number of micro-batches"
    yield "divided_twice", mean / count, look_at
    look_at = "a product with the number of micro-batches: which division should it undo?"
    yield "multiplied_by_micro_batches", mean * count, look_at
    look_at = "zero_grad(): it removes what earlier micro-batches added"
    for divisor in (sum(tokens), max(tokens[-1], 1)):
        yield "cleared_between", sums[-1] / divisor, look_at


def _judge_loss(seen: float, reference: TokenReference) -> Verdict | None:
    if math.isclose(seen, reference.loss, rel_tol=RELATIVE_TOLERANCE):
        return None
    expected = f"a returned mean loss of {reference.loss:.4f}"
    if not math.isfinite(seen):
        look_at = "a micro-batch without target tokens: the mean of nothing is NaN, whatever it is multiplied by"
        return Verdict("not_finite", expected, str(seen), look_at)
    for code, value, look_at in _known_losses(reference):
        if math.isclose(seen, value, rel_tol=RELATIVE_TOLERANCE):
            return Verdict(code, expected, f"{seen:.4f}", look_at)
    return Verdict("other_loss_returned", expected, f"{seen:.4f}", "what the function returns")


def _known_losses(reference: TokenReference) -> Iterator[tuple[str, float, str]]:
    tokens, losses, count = reference.tokens, reference.losses, len(reference.losses)
    means = [loss / max(own, 1) for loss, own in zip(losses, tokens, strict=True)]
    look_at = "the gradients are right: is the returned loss divided too?"
    yield "summed_loss_returned", sum(losses), look_at
    look_at = "the returned loss: does every token weigh the same in it?"
    yield "mean_of_mean_losses_returned", sum(means) / count, look_at
    look_at = "the returned loss: it is divided by the number of micro-batches, and should be by that of tokens"
    for loss in (sum(losses), reference.loss):
        yield "loss_divided_by_micro_batches", loss / count, look_at
    look_at = "the returned loss: of which micro-batches is it?"
    for loss in (losses[-1], losses[-1] / sum(tokens), means[-1]):
        yield "last_loss_returned", loss, look_at
