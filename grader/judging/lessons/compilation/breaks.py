"""Judges a loss without graph breaks: what Dynamo captured, and then its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.judging.forms import count
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.compilation.breaks import TrimmedCase, run_plain, trimmed_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def trimmed(model: nn.Module, inputs: Tensor, targets: Tensor, limit: float) -> tuple[Tensor, Tensor]:
    """Return the mean loss of the rows within the limit, of the best row if there is none, and the largest loss."""
    losses = F.mse_loss(model(inputs), targets, reduction="none").mean(dim=1)
    threshold = losses.min().clamp(min=limit)
    kept = losses <= threshold
    loss = torch.where(kept, losses, 0).sum() / kept.sum()
    return loss, losses.detach().max()


@dataclass(frozen=True)
class Capture:
    """What Dynamo made of a function in one setting.

    Attributes:
        graphs: Graphs that were compiled.
        breaks: The reason of each break.
        calls: Runs of all graphs.
        batches: Batches that the function was called on.
    """

    graphs: int
    breaks: list[str]
    calls: int
    batches: int

    def breaks_for(self, *words: str) -> bool:
        """Whether the reason of a break contains one of the words."""
        return any(word in reason for reason in self.breaks for word in words)


def judge_unbroken_loss(observation: Observation, seed: int) -> Verdict:
    """Judge the graphs of both settings, then loss, largest loss and gradient."""
    cases = trimmed_cases(seed)
    for case, facts in zip(cases, observation.facts["settings"], strict=True):
        capture = Capture(facts["graphs"], list(facts["breaks"]), facts["calls"], len(case.outliers))
        measured = f"{count(capture.graphs, 'graph')}, {count(len(capture.breaks), 'break')}"
        measured += f": {', '.join(dict.fromkeys(capture.breaks))}" if capture.breaks else ""
        expected = f"1 graph, 0 breaks, for {capture.batches} batches of one shape"
        verdict = BREAKS.judge(capture, expected=expected, measured=measured)
        if verdict:
            return verdict
    answer = TABLE.answer(seed, [_value_of(observation, index) for index in range(len(cases))])
    for key, describe in DESCRIPTIONS.items():
        part = answer.part(key)
        if not part.is_right:
            above = ", ".join(map(str, part.case.outliers))
            otherwise = (
                f"You have one graph, but another {key}. The batches have {above} of {part.case.rows} rows above "
            )
            otherwise += "the limit: compare each with trimmed_loss_with_breaks, uncompiled."
            return TABLE.explain(
                answer, part, expected=describe(part.truth), measured=describe(part.value), otherwise=otherwise
            )
    return Verdict(PASSED, "", f"1 graph and no break in {len(cases)} settings, with the values of the plain function")


def _value_of(observation: Observation, index: int) -> dict[str, Any]:
    batches = observation.facts["values"][index]
    return {
        "loss": [batch["loss"] for batch in batches],
        "largest": [batch["largest"] for batch in batches],
        "gradient": observation.tensors[str(index)],
    }


def _run(trimmed_loss: Callable[..., Any], case: TrimmedCase) -> dict[str, Any]:
    batches = run_plain(trimmed_loss, case)
    value: dict[str, Any] = {key: [batch[key] for batch in batches] for key in ("loss", "largest")}
    return value | {"gradient": torch.stack([batch["gradient"] for batch in batches])}


def _numbers(values: list[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


DESCRIPTIONS: dict[str, Callable[[Any], str]] = {
    "loss": lambda values: f"losses {_numbers(values)}",
    "largest": lambda values: f"largest losses {_numbers(values)}",
    "gradient": lambda rows: f"gradients of norm {_numbers(rows.norm(dim=1).tolist())}",
}

BREAKS = Table[Capture](
    Misconception(
        "compilation_switched_off",
        "You keep Dynamo out of your function, so a batch runs without a graph. Remove torch.compiler.disable.",
        shown_by=lambda capture: (
            capture.breaks_for("compiler.disable") or (not capture.breaks and capture.calls < capture.batches)
        ),
    ),
    Misconception(
        "shape_depends_on_values",
        "You make a tensor whose length depends on its values, as `losses[mask]` does. Keep the shape, and give the "
        "rows that do not count a zero.",
        shown_by=lambda capture: capture.breaks_for("Dynamic shape operator"),
    ),
    Misconception(
        "branches_on_a_value",
        "You let Python decide on the value of a tensor, in an `if` or a `while`. Compute both, "
        "and choose with a tensor operation.",
        shown_by=lambda capture: capture.breaks_for("generic_jump", "Data-dependent", "branching"),
    ),
    Misconception(
        "value_read_back",
        "You read a number out of a tensor, with .item(), float() or .tolist(). Return the tensor, and read it outside "
        "of the compiled function.",
        shown_by=lambda capture: capture.breaks_for("item()", "tolist", "scalar"),
    ),
    Misconception(
        "prints_inside",
        "You print inside the compiled function. Return what you want to see, and print it outside.",
        shown_by=lambda capture: capture.breaks_for("print", "logging", "builtin operator"),
    ),
    Misconception(
        "other_break",
        "You call something that Dynamo cannot follow; a switch of its config is such a call, and does not help. The "
        "line *measured* says what, and torch._dynamo.explain says where.",
        shown_by=lambda capture: bool(capture.breaks),
    ),
    Misconception(
        "recompiled",
        "You make Dynamo compile again for batches of one shape: a guard fails, on something in Python that changes "
        "from call to call, such as a counter or the length of a list.",
        shown_by=lambda capture: capture.graphs > 1,
    ),
)
THRESHOLD = "losses.min().clamp(min=limit)"
KEPT = "kept = losses <= threshold"
LOSS = "torch.where(kept, losses, 0).sum() / kept.sum()"

TABLE = ReferenceTable(
    trimmed,
    Misconception(
        "all_rows_counted",
        "You return the mean over all rows. Rows above the limit do not count.",
        {LOSS: "losses.mean()"},
    ),
    Misconception(
        "divided_by_all_rows",
        "You add up the rows that count, and divide by all rows. Divide by how many count.",
        {LOSS: "torch.where(kept, losses, 0).mean()"},
        variants=[{THRESHOLD: "limit", LOSS: "torch.where(kept, losses, 0).mean()"}],
    ),
    Misconception(
        "no_row_left",
        "You divide zero by zero, or return zero, where every row is above the limit. The best row counts then.",
        {THRESHOLD: "limit"},
        variants=[
            {THRESHOLD: "limit", LOSS: "torch.where(kept, losses, 0).sum() / kept.sum().clamp(min=1)"},
            {THRESHOLD: "limit", LOSS: "torch.where(kept, losses, 0).sum() / (kept.sum() + 1e-8)"},
        ],
    ),
    Misconception(
        "all_rows_where_none_is_left",
        "You count all rows where every row is above the limit. Only the best one counts then.",
        {LOSS: "torch.where(losses.min() > limit, losses.mean(), torch.where(kept, losses, 0).sum() / kept.sum())"},
    ),
    Misconception(
        "losses_clipped",
        "You clip large losses to the limit. They still count; leave them out.",
        {LOSS: "losses.clamp(max=limit).mean()"},
        variants=[
            {LOSS: "torch.minimum(losses, threshold).mean()"},
            {LOSS: "torch.where(kept, losses, limit).mean()"},
        ],
    ),
    Misconception(
        "sum_for_the_mean",
        "You return the sum of the rows that count. The loss is their mean.",
        {LOSS: "torch.where(kept, losses, 0).sum()"},
        variants=[{THRESHOLD: "limit", LOSS: "torch.where(kept, losses, 0).sum()"}],
    ),
    Misconception(
        "worst_row_where_none_is_left",
        "You take the worst row where every row is above the limit. The best one counts then.",
        {
            LOSS: "torch.where(losses.min() > limit, losses.max(), torch.where(kept, losses, 0).sum() / kept.sum())",
        },
    ),
    Misconception(
        "pair_swapped",
        "You return the largest loss first. The loss comes first.",
        {"return loss, losses.detach().max()": "return losses.max(), loss.detach()"},
    ),
    Misconception(
        "best_row_everywhere",
        "You compute the loss of the best row alone in every batch. It is for batches without a row within the limit: "
        "the threshold is the larger one of limit and smallest loss, so clamp(min=), not clamp(max=).",
        {LOSS: "losses.min()"},
        variants=[
            {THRESHOLD: "losses.min().clamp(max=limit)"},
            {THRESHOLD: "losses.min().clamp(max=limit)", LOSS: f"{LOSS}.clamp(min=1)"},
        ],
    ),
    Misconception(
        "limit_excluded",
        "You leave out a row whose loss equals the limit. Within the limit means <=, not <.",
        {KEPT: "kept = (losses < limit) | (losses == losses.min())"},
        variants=[{KEPT: "kept = losses < threshold"}],
    ),
    Misconception(
        "nan_in_the_branch_not_chosen",
        "You divide 0 by 0 where no row counts, and choose another value with where(). That mends the loss, but "
        "backward runs through the other branch, too, and divides 0 by 0 there. Divide by a count of at least 1.",
        {THRESHOLD: "limit", LOSS: "torch.where(kept.any(), (losses * kept).sum() / kept.sum(), losses.min())"},
    ),
    Misconception(
        "outliers_kept",
        "You keep the rows above the limit, and leave out the others. Turn the comparison around.",
        {LOSS: "torch.where(kept, 0, losses).sum() / (~kept).sum()"},
    ),
    Misconception(
        "gradient_cut",
        "You detach the losses, so no gradient reaches the model.",
        {LOSS: f"({LOSS}).detach()"},
    ),
    Misconception(
        "largest_of_the_kept_rows",
        "You return the largest loss among the rows that count. The log wants that of all rows.",
        {"losses.detach().max()": "torch.where(kept, losses, 0).max()"},
    ),
    hard_coded(trimmed_cases),
    run=_run,
    cases=trimmed_cases,
    is_near=within(relative=1e-4, absolute=1e-5),
)
