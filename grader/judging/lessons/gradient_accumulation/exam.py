"""Judges the exam on gradient accumulation."""

from __future__ import annotations

import math
from typing import Any

import torch

from grader.judging.edited_source import Part
from grader.judging.misconceptions import Misconception
from grader.judging.nearness import is_near
from grader.judging.references import Answer
from grader.judging.variants import FamilyJudge, variant_judges, when
from grader.lessons.gradient_accumulation.exam import (
    TOPIC,
    GroupsCase,
    PeakCase,
    groups_cases,
    peak_cases,
    run_groups,
)
from grader.variants import Options


def train_in_groups(
    model: Any, loss_function: Any, optimizer: Any, micro_batches: Any, limit: int, options: Options
) -> list[float]:
    """Update once for each group, by the mean over its rows."""
    parameters = list(model.parameters())
    norms = []
    group: list[Any] = []
    optimizer.zero_grad()
    for number, (inputs, targets) in enumerate(micro_batches, start=1):
        group.append((inputs, targets))
        rows = sum(len(targets) for _, targets in group)
        size = rows if options["group"] == "rows" else len(group)
        is_full = size >= limit
        if not is_full and (options["last"] == "drop" or number < len(micro_batches)):
            continue
        optimizer.zero_grad()
        for inputs, targets in group:
            loss = loss_function(model(inputs), targets)
            share = len(targets) / rows if options["loss"] == "mean" else 1 / rows
            (loss * share).backward()
        largest = options["max_norm"] or math.inf
        norms.append(float(torch.nn.utils.clip_grad_norm_(parameters, largest)))
        optimizer.step()
        group = []
    return norms


def peak_of_update(parameters: int, activation_bytes: int, k: int, options: Options) -> int:
    """Bytes held at the peak of an update."""
    width = 4 if options["weights"] == "float32" else 2
    weights = width * parameters
    master = 4 * parameters if options["weights"] == "bfloat16" else 0
    state: int = 4 * options["moments"] * parameters
    gradients = 4 * parameters
    copy = 4 * parameters if options["update"] == "through a copy" else 0
    held = weights + master + state + gradients
    return max(held + activation_bytes // k, held + copy)


class GroupsJudge(FamilyJudge):
    """Judges the weights that training leaves, and the norms that it returns."""

    def _texts(self, truth: Any, value: Any) -> tuple[str, str]:
        """Write the first number of the first kind that differs, or how many there are of each kind."""
        for kind in truth:
            if len(value[kind]) != len(truth[kind]):
                return f"{len(truth[kind])} {kind}s", f"{len(value[kind])} {kind}s"
            for place, (right, given) in enumerate(zip(truth[kind], value[kind], strict=True)):
                if not is_near(given, right, relative=self.relative, absolute=self.absolute):
                    return f"{kind} {place} (counted from 0): {right:.6g}", f"{kind} {place}: {given:.6g}"
        raise ValueError("no number differs")


def _are_norms_miscounted(answer: Answer) -> bool:
    """Whether in every wrong case the weights are right, and only the count of norms differs."""
    truths = answer.table.truths(answer.seed)
    return all(
        answer.table.is_near(answer.values[index]["weight"], truths[index]["weight"])
        and len(answer.values[index]["norm"]) != len(truths[index]["norm"])
        for index in answer.wrong
    )


def _run_groups(train: Part, case: GroupsCase, options: Options) -> dict[str, list[float]]:
    return run_groups(train, case, options, options)


def _run_peak(peak: Part, case: PeakCase, options: Options) -> int:
    value: int = peak(case.parameters, case.activation_bytes, case.k, options)
    return value


SHARE = 'len(targets) / rows if options["loss"] == "mean" else 1 / rows'
LARGEST = 'options["max_norm"] or math.inf'
LAST = 'options["last"] == "drop" or number < len(micro_batches)'
NORM = "float(torch.nn.utils.clip_grad_norm_(parameters, largest))"
GROUPS = GroupsJudge(
    train_in_groups,
    (
        when(
            Misconception(
                "every_micro_batch_weighs_the_same",
                "You divide by the number of micro-batches, as if all had the same rows. Weigh each row the same.",
                {SHARE: "1 / len(group)"},
            ),
            loss="mean",
        ),
        when(
            Misconception(
                "sum_divided_by_micro_batches",
                "You divide a sum over rows by the number of micro-batches. Divide it by the rows of the group.",
                {SHARE: "1 / len(group)"},
            ),
            loss="sum",
        ),
        Misconception(
            "gradient_not_averaged",
            "You add up what `loss_function` returns. Divide, so that the gradient is the mean over the group's rows.",
            {SHARE: "1"},
        ),
        when(
            Misconception(
                "sum_taken_for_mean",
                "You weigh a loss by its share of the rows, but it is a sum over rows. Look at what `loss_function` "
                "returns.",
                {SHARE: "len(targets) / rows"},
            ),
            loss="sum",
        ),
        when(
            Misconception(
                "mean_taken_for_sum",
                "You divide a mean by the rows again. Look at what `loss_function` returns.",
                {SHARE: "1 / rows"},
            ),
            loss="mean",
        ),
        when(
            Misconception(
                "divided_by_the_limit",
                "You divide by `limit`, which a group may exceed. Divide by the rows that it has.",
                {SHARE: 'len(targets) / limit if options["loss"] == "mean" else 1 / limit'},
            ),
            group="rows",
        ),
        when(
            Misconception(
                "last_group_left_out",
                "You leave out the last group where it is not full. The contract asks for an update with it.",
                {LAST: "True"},
            ),
            last="step",
        ),
        when(
            Misconception(
                "last_group_stepped",
                "You update with a last group that is not full. The contract asks to leave it out.",
                {LAST: "number < len(micro_batches)"},
            ),
            last="drop",
        ),
        Misconception(
            "one_more_than_the_limit",
            "You close a group one micro-batch too late. It is full as soon as it reaches the limit.",
            {"size >= limit": "size > limit"},
        ),
        when(
            Misconception(
                "limit_counts_micro_batches",
                "You close a group after `limit` micro-batches. The limit counts rows.",
                {'rows if options["group"] == "rows" else len(group)': "len(group)"},
            ),
            group="rows",
        ),
        when(
            Misconception(
                "limit_counts_rows",
                "You close a group once it has `limit` rows. The limit counts micro-batches.",
                {'rows if options["group"] == "rows" else len(group)': "rows"},
            ),
            group="count",
        ),
        when(
            Misconception(
                "gradient_not_clipped",
                "You update with the whole gradient. Clip its norm before the update.",
                {LARGEST: "math.inf"},
            ),
            max_norm=4.0,
        ),
        when(
            Misconception(
                "clipped_to_another_norm",
                "You clip to norm 1, as many training recipes do. The contract names another largest norm.",
                {LARGEST: "1.0"},
            ),
            max_norm=4.0,
        ),
        when(
            Misconception(
                "gradient_clipped",
                "You clip the gradient to norm 1. The contract asks for its norm, and for an update with all of it.",
                {LARGEST: "1.0"},
            ),
            max_norm=0.0,
        ),
        when(
            Misconception(
                "clipped_norm_returned",
                "You return the norm after the clipping. Return what clip_grad_norm_ returns: the norm before it.",
                {NORM: f"min({NORM}, largest)"},
            ),
            max_norm=4.0,
        ),
        when(
            Misconception(
                "each_micro_batch_clipped",
                "You clip after each backward pass, before the sum is complete. Clip once for each update.",
                {
                    "(loss * share).backward()": "(loss * share).backward(); torch.nn.utils.clip_grad_norm_("
                    'parameters, options["max_norm"])'
                },
            ),
            max_norm=4.0,
        ),
        Misconception(
            "gradients_of_groups_added",
            "You keep the gradient of the group before. Clear it between two updates.",
            {"            continue\n        optimizer.zero_grad()": "            continue"},
        ),
        Misconception(
            "norms_not_one_for_each_update",
            "You make the right updates, but do not return one norm for each. Append a norm at each step, the last one "
            "included.",
            shown_by=_are_norms_miscounted,
        ),
        Misconception(
            "update_for_each_micro_batch",
            "You update after every micro-batch. Update once for each group.",
            {"is_full = size >= limit": "is_full = True"},
        ),
        Misconception(
            "exercise_of_the_lesson",
            "You solve the exercise of the lesson. This contract differs from it: read each of its lines.",
            {
                SHARE: "1 / len(group)",
                'rows if options["group"] == "rows" else len(group)': "len(group)",
                LAST: "number < len(micro_batches)",
                LARGEST: "math.inf",
            },
            same_as=("every_micro_batch_weighs_the_same", "sum_divided_by_micro_batches"),
        ),
    ),
    _run_groups,
    groups_cases,
    lambda case: f"{len(case.rows)} micro-batches of {', '.join(map(str, case.rows))} rows, limit {case.limit}",
    relative=1e-4,
    absolute=1e-5,
)
ACTIVATIONS = "activation_bytes // k"
PEAK = FamilyJudge(
    peak_of_update,
    (
        when(
            Misconception(
                "gradients_in_the_format_of_weights",
                "You count gradients in the format of the weights. Look at the format of the buffer that sums them.",
                {"gradients = 4 * parameters": "gradients = width * parameters"},
            ),
            weights="bfloat16",
        ),
        when(
            Misconception(
                "master_weights_forgotten",
                "You count 4 bytes for each parameter too few. The optimizer updates a float32 copy of the weights, "
                "and keeps each moment of the contract: add them up one by one.",
                {'4 * parameters if options["weights"] == "bfloat16" else 0': "0"},
            ),
            weights="bfloat16",
        ),
        when(
            Misconception(
                "one_moment_forgotten",
                "You count one moment. Adam keeps two for each parameter.",
                {'4 * options["moments"] * parameters': "4 * parameters"},
            ),
            moments=2,
            weights="float32",
        ),
        when(
            Misconception(
                "two_moments_counted",
                "You count two moments. SGD with momentum keeps one number for each parameter.",
                {'4 * options["moments"] * parameters': "8 * parameters"},
            ),
            moments=1,
        ),
        when(
            Misconception(
                "state_forgotten",
                "You leave out what the optimizer keeps from update to update.",
                {'state: int = 4 * options["moments"] * parameters': "state = 0"},
            ),
            weights="float32",
        ),
        when(
            Misconception(
                "state_of_adam_forgotten",
                "You leave out both moments. The optimizer keeps them from update to update.",
                {'state: int = 4 * options["moments"] * parameters': "state = 0"},
            ),
            weights="bfloat16",
            moments=2,
        ),
        Misconception(
            "activations_of_the_whole_batch",
            "You count the activations of the whole batch. One micro-batch is in memory at a time.",
            {ACTIVATIONS: "activation_bytes"},
        ),
        when(
            Misconception(
                "everything_added",
                "You add what the update needs to the activations. They come one after the other: take the larger.",
                {"max(held + activation_bytes // k, held + copy)": "held + activation_bytes // k + copy"},
            ),
            update="through a copy",
        ),
        when(
            Misconception(
                "copy_forgotten",
                "You leave out the copy that the update makes. Compare it with the activations of a micro-batch.",
                {"max(held + activation_bytes // k, held + copy)": "held + activation_bytes // k"},
            ),
            update="through a copy",
        ),
        Misconception(
            "gradients_only_while_accumulating",
            "You count gradients in the forward pass only where k is above 1. This buffer stays all the time.",
            {"max(held + activation_bytes // k": "max(held - (gradients if k == 1 else 0) + activation_bytes // k"},
        ),
        Misconception(
            "gradients_forgotten_in_forward",
            "You leave out the gradients in the forward pass. This buffer stays all the time.",
            {"max(held + activation_bytes // k": "max(held - gradients + activation_bytes // k"},
        ),
        Misconception(
            "exercise_of_the_lesson",
            "You solve the exercise of the lesson. This contract differs from it: read each of its lines.",
            {
                'width = 4 if options["weights"] == "float32" else 2': "width = 4",
                '4 * parameters if options["weights"] == "bfloat16" else 0': "0",
                "max(held + activation_bytes // k, held + copy)": "max(held - (gradients if k == 1 else 0) + "
                "activation_bytes // k, held)",
            },
            same_as=("gradients_only_while_accumulating",),
        ),
    ),
    _run_peak,
    peak_cases,
    lambda case: f"{case.parameters:,} parameters, {case.activation_bytes:,} bytes of activations, k = {case.k}",
)

__getattr__ = variant_judges(TOPIC, judge_exam_groups=GROUPS, judge_exam_peak=PEAK)
