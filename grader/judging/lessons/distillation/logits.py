"""Judges the gradient of a soft loss, and the loss of distillation, on given logits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.distillation.logits import LogitsCase, gradient_cases, loss_cases, run_gradient, run_loss
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def soft_gradient(student_logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """Return the gradient of KL(teacher, student) at a temperature, by the student's logits."""
    student = torch.softmax(student_logits / temperature, dim=-1)
    teacher = torch.softmax(teacher_logits / temperature, dim=-1)
    return (student - teacher) / temperature


def distillation_loss(
    student_logits: Tensor, teacher_logits: Tensor, labels: Tensor, temperature: float, alpha: float
) -> Tensor:
    """Return the weighted sum of the soft loss, times temperature squared, and the loss of the labels."""
    hard = F.cross_entropy(student_logits, labels)
    student = F.log_softmax(student_logits / temperature, dim=-1)
    teacher = F.log_softmax(teacher_logits.detach() / temperature, dim=-1)
    soft = F.kl_div(student, teacher, log_target=True, reduction="batchmean")
    return alpha * temperature**2 * soft + (1 - alpha) * hard


def judge_soft_gradient(observation: Observation, seed: int) -> Verdict:
    """Compare the gradient of each row."""
    answer = GRADIENT.answer(seed, [observation.tensors[str(index)] for index in range(len(gradient_cases(seed)))])
    if answer.is_right:
        return Verdict(PASSED, "", f"{len(answer.values)} gradients right, at as many temperatures")
    case: LogitsCase = answer.case
    return GRADIENT.explain(
        answer,
        expected=f"{_numbers(answer.truth)} at temperature {case.temperature:g}",
        measured=_numbers(answer.value),
        otherwise=_difference_of_gradients(answer),
    )


def judge_distillation_loss(observation: Observation, seed: int) -> Verdict:
    """Compare the gradient that reaches the teacher, then each loss and the gradient that reaches the student."""
    names = ("teacher", "loss", "gradient")
    count = len(loss_cases(seed))
    values = [{name: observation.tensors[f"{name}.{index}"] for name in names} for index in range(count)]
    answer = LOSS.answer(seed, values)
    for name, what in zip(names, ("the teacher's gradient", "a loss", "the student's gradient"), strict=True):
        part = answer.part(name)
        if part.is_right:
            continue
        case: LogitsCase = part.case
        place = f"rows {case.rows}, temperature {case.temperature:g}, alpha {case.alpha:g}"
        return LOSS.explain(
            answer,
            part,
            expected=f"{what} of {_size(part.truth)} ({place})",
            measured=_size(part.value),
            otherwise=_difference_of_losses(part, what.split()[-1]),
        )
    return Verdict(PASSED, "", f"{count} losses right, and none of their gradients reaches the teacher")


def _difference_of_gradients(answer: Answer) -> str:
    value, truth = answer.value, answer.truth
    if 0 not in answer.wrong:
        return "Your gradient is right at temperature 1. Look at each place where you use the temperature."
    if (value - truth).norm() < 0.02 * truth.norm():
        return "Your gradient is right to about two digits. Keep the dtype of the logits."
    if not value.any():
        return "Your gradient is 0. Look at the dimension of your softmax: is it that of the classes?"
    if abs(value.sum()) > 1e-3 * value.norm():
        return (
            f"Your numbers add up to {value.sum():.3g}. A gradient by logits adds up to 0, because a constant added to "
            "all logits changes no distribution. Look at what you differentiate, and by what."
        )
    if F.cosine_similarity(value, truth, dim=0).abs() > 0.999:
        return f"Your gradient is {value @ truth / (truth @ truth):.3g} times the right one. Look at its factors."
    return (
        "Your gradient adds up to 0 as it should, but has another direction. Derive it for two classes at temperature "
        "1 first: which distribution is the target, and which depends on the student's logits?"
    )


def _difference_of_losses(part: Answer, what: str) -> str:
    soft, hard = (part.only(index) for index in (3, 4))  # alpha 1 and alpha 0
    case: LogitsCase = part.table.reference.cases(part.seed)[3]
    return (
        f"Your {what} is {_ratio(hard)} the right one at alpha 0, where it is that of the labels alone, and "
        f"{_ratio(soft)} at alpha 1, where it is the soft one ({case.rows} rows, {case.classes} classes, temperature "
        f"{case.temperature:g}). Look at the one that is wrong alone, or else at how you weigh and add them."
    )


def _ratio(one: Answer) -> str:
    if one.is_right:
        return "exactly"
    value, truth = (side.flatten() for side in (one.value, one.truth))
    return f"{float(value @ truth / (truth @ truth)):.3g} times"


def _numbers(values: Tensor) -> str:
    return ", ".join(f"{value:.4f}" for value in values.tolist())


def _size(value: Tensor) -> str:
    return f"{value.item():.5g}" if value.dim() == 0 else f"norm {torch.linalg.vector_norm(value).item():.5g}"


def _gradient(function: Callable[..., Any], case: LogitsCase) -> Tensor:
    value: Tensor = run_gradient(function, case)
    return value


def _loss(function: Callable[..., Any], case: LogitsCase) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch complains of reduction="mean" by itself
        return run_loss(function, case)


STUDENT = "torch.softmax(student_logits / temperature, dim=-1)"
TEACHER = "torch.softmax(teacher_logits / temperature, dim=-1)"
DIFFERENCE = "(student - teacher) / temperature"
NO_CHAIN_RULE = {DIFFERENCE: "student - teacher"}
SHARP_STUDENT = {STUDENT: "torch.softmax(student_logits, dim=-1)"}
SHARP_TEACHER = {TEACHER: "torch.softmax(teacher_logits, dim=-1)"}
HARD_TEACHER = {TEACHER: "F.one_hot(teacher_logits.argmax(), len(teacher_logits))"}
MULTIPLIED = {STUDENT: STUDENT.replace("/", "*"), TEACHER: TEACHER.replace("/", "*")}
is_near = within(relative=1e-5, absolute=1e-7)

GRADIENT = ReferenceTable(
    soft_gradient,
    Misconception(
        "temperature_of_the_chain_rule_missing",
        "You return the difference of the two distributions. The logits were divided by the temperature, so the chain "
        "rule divides once more.",
        NO_CHAIN_RULE,
    ),
    Misconception(
        "direction_reversed",
        "Your gradient has the opposite sign. A logit that is too large has a positive gradient.",
        {DIFFERENCE: "(teacher - student) / temperature"},
        variants=[{DIFFERENCE: "teacher - student"}],
    ),
    Misconception(
        "divided_by_the_square",
        "You divide by the temperature twice. The second division is in the distributions already: they approach each "
        "other.",
        {DIFFERENCE: "(student - teacher) / temperature**2"},
    ),
    Misconception(
        "already_multiplied_by_the_square",
        "You return the gradient of the loss after it was multiplied by the temperature squared.",
        {DIFFERENCE: "(student - teacher) * temperature"},
    ),
    Misconception(
        "temperature_for_the_student_only",
        "You soften the student's logits and not the teacher's. Both are divided by the temperature.",
        SHARP_TEACHER,
        variants=[SHARP_TEACHER | NO_CHAIN_RULE],
    ),
    Misconception(
        "temperature_for_the_teacher_only",
        "You soften the teacher's logits and not the student's. Both are divided by the temperature.",
        SHARP_STUDENT,
        variants=[SHARP_STUDENT | NO_CHAIN_RULE],
    ),
    Misconception(
        "temperature_not_used",
        "You take both distributions at temperature 1. Divide the logits first.",
        SHARP_STUDENT | SHARP_TEACHER | NO_CHAIN_RULE,
        variants=[SHARP_STUDENT | SHARP_TEACHER],
    ),
    Misconception(
        "logits_multiplied",
        "You multiply the logits by the temperature, which makes both distributions sharper. Divide.",
        MULTIPLIED,
        variants=[MULTIPLIED | NO_CHAIN_RULE],
    ),
    Misconception(
        "teacher_made_hard",
        "You compare with the teacher's largest class alone. Its other probabilities are what is to be learned.",
        HARD_TEACHER,
        variants=[HARD_TEACHER | NO_CHAIN_RULE, HARD_TEACHER | SHARP_STUDENT],
    ),
    Misconception(
        "logarithms_subtracted",
        "You subtract logarithms of probabilities. The gradient is a difference of probabilities.",
        {DIFFERENCE: "(student.log() - teacher.log()) / temperature"},
        variants=[{DIFFERENCE: "student.log() - teacher.log()"}],
    ),
    Misconception(
        "logits_subtracted",
        "You subtract logits. That is the limit for high temperatures: look at what holds at temperature 1.",
        {DIFFERENCE: "(student_logits - teacher_logits) / temperature"},
        variants=[
            {DIFFERENCE: "student_logits - teacher_logits"},
            {DIFFERENCE: "(student_logits - teacher_logits) / temperature**2 / len(student)"},
            {
                DIFFERENCE: "(student_logits - student_logits.mean() - teacher_logits + teacher_logits.mean())"
                " / temperature**2 / len(student)"
            },
        ],
    ),
    Misconception(
        "arguments_of_kl_swapped",
        "Your gradient is that of KL(student, teacher). The teacher's distribution comes first: it is the target.",
        {
            DIFFERENCE: "student * (student.log() - teacher.log()"
            " - (student * (student.log() - teacher.log())).sum()) / temperature"
        },
    ),
    run=_gradient,
    cases=gradient_cases,
    is_near=is_near,
)

SOFT = 'F.kl_div(student, teacher, log_target=True, reduction="batchmean")'
SUM = "alpha * temperature**2 * soft + (1 - alpha) * hard"
STUDENT_LOG = "F.log_softmax(student_logits / temperature, dim=-1)"
TEACHER_LOG = "F.log_softmax(teacher_logits.detach() / temperature, dim=-1)"
UNSQUARED = {SUM: "alpha * soft + (1 - alpha) * hard"}
SHARP = {side: side.replace(" / temperature", "") for side in (STUDENT_LOG, TEACHER_LOG)}

LOSS = ReferenceTable(
    distillation_loss,
    Misconception(
        "gradient_reaches_the_teacher",
        "Your loss sends a gradient to the teacher, which is not to learn from its student. Detach its logits.",
        shown_by=lambda answer: not answer.part("teacher").is_right,
    ),
    Misconception(
        "another_reduction",
        "You do not average the soft loss over the rows alone: by its default kl_div divides by the classes, too. Set "
        'reduction="batchmean", and keep both arguments at [rows, classes].',
        {SOFT: SOFT.replace("batchmean", "mean")},
        variants=[{SOFT: SOFT.replace("batchmean", "sum")}],
    ),
    Misconception(
        "arguments_of_kl_swapped",
        "You hand kl_div the teacher first. Its first argument is the student's log-probabilities.",
        {SOFT: SOFT.replace("student, teacher", "teacher, student")},
        variants=[{SOFT: 'F.kl_div(teacher.exp(), student, reduction="batchmean")'}],
    ),
    Misconception(
        "temperature_squared_missing",
        "You do not multiply the soft loss by the temperature twice. One factor makes good for the chain rule, the "
        "other for distributions that approach each other.",
        UNSQUARED,
        variants=[{SUM: "alpha * temperature * soft + (1 - alpha) * hard"}],
    ),
    Misconception(
        "both_losses_scaled",
        "You multiply both losses by the temperature squared. The loss of the labels has no temperature.",
        {SUM: "(alpha * soft + (1 - alpha) * hard) * temperature**2"},
    ),
    Misconception(
        "teacher_not_softened",
        "You leave the teacher's logits undivided. Divide both by the temperature.",
        {TEACHER_LOG: "F.log_softmax(teacher_logits.detach(), dim=-1)"},
    ),
    Misconception(
        "student_not_softened",
        "You leave the student's logits undivided in the soft loss. Divide both by the temperature.",
        {STUDENT_LOG: "F.log_softmax(student_logits, dim=-1)"},
    ),
    Misconception(
        "temperature_not_used",
        "You compare both distributions at temperature 1. Divide the logits of both first.",
        SHARP,
        variants=[SHARP | UNSQUARED],
    ),
    Misconception(
        "probabilities_for_log_probabilities",
        "You hand kl_div the student's probabilities. It expects their logarithms: use log_softmax.",
        {SOFT: 'F.kl_div(student.exp(), teacher.exp(), reduction="batchmean")'},
    ),
    Misconception(
        "log_target_not_declared",
        "You declare another kind of teacher than you hand to kl_div. log_target=True goes with log-probabilities, the "
        "default with probabilities.",
        {SOFT: 'F.kl_div(student, teacher, reduction="batchmean")'},
        variants=[{SOFT: SOFT.replace("teacher", "teacher.exp()")}],
    ),
    Misconception(
        "cross_entropy_for_kl",
        "You return the cross-entropy with soft targets. It has the gradient of KL, and is larger by the entropy "
        "of the teacher: the contract asks for KL.",
        {SOFT: "-(teacher.exp() * student).sum(dim=-1).mean()"},
    ),
    Misconception(
        "labels_softened",
        "You divide the logits by the temperature in the loss of the labels, too. It keeps temperature 1.",
        {"F.cross_entropy(student_logits, labels)": "F.cross_entropy(student_logits / temperature, labels)"},
    ),
    Misconception(
        "weights_swapped",
        "You weigh the labels with alpha and the teacher with the rest. It is the other way round.",
        {SUM: "(1 - alpha) * temperature**2 * soft + alpha * hard"},
    ),
    Misconception(
        "losses_added",
        "You weigh one of the losses at most. The soft loss has the weight alpha, that of the labels 1 - alpha.",
        {SUM: "temperature**2 * soft + hard"},
        variants=[
            {SUM: text}
            for text in (
                "soft + hard",
                "alpha * temperature**2 * soft + hard",
                "temperature**2 * soft + (1 - alpha) * hard",
            )
        ],
    ),
    Misconception(
        "alpha_not_used",
        "You weigh with constants in place of alpha. Look at the sum.",
        {SUM: "0.5 * temperature**2 * soft + 0.5 * hard"},
        variants=[{SUM: f"{share} * temperature**2 * soft + (1 - {share}) * hard"} for share in (0.7, 0.9)],
    ),
    Misconception(
        "graph_cut",
        "You return the right number, but the gradient of one of its two losses does not reach the student. Detach the "
        "teacher's logits alone.",
        {SUM: "alpha * temperature**2 * soft.detach() + (1 - alpha) * hard"},
        variants=[{SUM: "alpha * temperature**2 * soft + (1 - alpha) * hard.detach()"}],
    ),
    Misconception(
        "softmax_over_rows",
        "You take the softmax over the rows. Set dim to that of the classes, the last.",
        {STUDENT_LOG: STUDENT_LOG.replace("-1", "0"), TEACHER_LOG: TEACHER_LOG.replace("-1", "0")},
    ),
    Misconception(
        "labels_left_out",
        "You return the soft loss alone. Add the loss of the labels with weight 1 - alpha.",
        {SUM: "alpha * temperature**2 * soft"},
        variants=[{SUM: "temperature**2 * soft"}],
    ),
    Misconception(
        "teacher_left_out",
        "You return the loss of the labels, and the teacher plays no part.",
        {SUM: "(1 - alpha) * hard"},
        variants=[{SUM: "hard"}],
    ),
    Misconception(
        "logits_matched",
        "You return the mean squared difference of logits as the soft loss. Use KL of the two distributions.",
        {SOFT: "F.mse_loss(student_logits, teacher_logits.detach())"},
        variants=[{SOFT: "F.mse_loss(student_logits, teacher_logits.detach())"} | UNSQUARED],
    ),
    run=_loss,
    cases=loss_cases,
    is_near=is_near,
)
