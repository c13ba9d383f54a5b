"""Judges a linear layer and its cross-entropy in chunks: loss and gradients, then bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.budget import claimed_peak_bytes, judge_budget
from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.compilation.chunks import ChunkCase, ChunkPeakCase, chunk_cases, chunk_peak_case, chunk_rows_case
from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import PeakMemory
from grader.meters.saved_tensors import measure_saved_tensors
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

LEAST_SAVING = 6
SHARE = 0.35  # of 16 chunks one has to be held, in several copies, next to both gradients: 0.2


def chunked(hidden: Tensor, weight: Tensor, targets: Tensor, chunk_rows: int, upstream: float) -> dict[str, Any]:
    """Return the mean loss of the rows that count, and both gradients times what arrives at the loss."""
    counted = targets != -100
    rows = counted.sum()
    loss = hidden.new_zeros(())
    hidden_gradient, weight_gradient = torch.zeros_like(hidden), torch.zeros_like(weight)
    for start in range(0, len(hidden), chunk_rows):
        part = slice(start, start + chunk_rows)
        kept, classes = counted[part], targets[part].clamp(min=0)
        scores = (hidden[part] @ weight.T).log_softmax(dim=1)
        picked = scores.gather(1, classes[:, None])[:, 0]
        loss = loss - picked[kept].sum() / rows
        gradient = scores.exp()
        gradient[torch.arange(len(gradient)), classes] -= 1
        gradient = gradient * kept[:, None] / rows
        hidden_gradient[part] = gradient @ weight
        weight_gradient += gradient.T @ hidden[part]
    return {"loss": float(loss), "hidden": hidden_gradient * upstream, "weight": weight_gradient * upstream}


def judge_chunked_gradients(observation: Observation, seed: int) -> Verdict:
    """Compare the losses, then both gradients."""
    losses = observation.facts["losses"]
    values = [
        {"loss": loss} | {name: observation.tensors[f"{index}.{name}"] for name in ("hidden", "weight")}
        for index, loss in enumerate(losses)
    ]
    answer = TABLE.answer(seed, values)
    for key, describe in DESCRIPTIONS.items():
        part = answer.part(key)
        if part.is_right:
            continue
        case: ChunkCase = part.case
        chunks = f"{case.rows} rows in chunks of {case.chunk_rows}"
        otherwise = (
            f"You return another {WHAT[key]} than F.cross_entropy of all logits does: compare them on {chunks}, "
        )
        otherwise += "chunk by chunk. Where they differ by less than 1 %, look for a format of fewer bits."
        first, end = case.ignored
        ignored = f"rows {first} to {end - 1}" if end - first > 1 else f"row {first}" if end > first else "no row"
        expected = f"{describe(part.truth)} ({chunks}; {ignored} ignored)"
        return TABLE.explain(answer, part, expected=expected, measured=describe(part.value), otherwise=otherwise)
    return Verdict(PASSED, "", f"loss and both gradients of {len(losses)} settings right")


def judge_chunked_peak(observation: Observation, seed: int) -> Verdict:
    """Judge what is saved for backward, then the peak."""
    case = chunk_peak_case(seed)
    (claim,) = observation.facts["claims"]
    saved, plain = int(observation.facts["saved_bytes"]), _plain_saved_bytes(case)
    if saved * LEAST_SAVING > plain:
        return Verdict(
            "logits_saved",
            f"at most a {LEAST_SAVING}th of the plain loss's {format_bytes(plain)} saved for backward",
            f"{format_bytes(saved)}, which is {saved / plain:.0%} of that",
            "You save something as large as the logits for backward. Save the gradients, or what they can be "
            "computed from, chunk by chunk.",
        )
    baseline = _plain_peak(case, "cpu" if claim["device"] == "cpu" else "cuda")
    needed_bytes = distinct_storage_bytes([case.make_head().weight, *(tensor.detach() for tensor in case.draw())])
    look_at = (
        "You save little, but hold a number for every row and every token at once: logits, their softmax or one-hot "
        "targets. Look for a product of all rows with the weight, a list of chunks, and attributes of `ctx`."
    )
    verdict = judge_budget(
        claimed_peak_bytes(claim, needed_bytes), baseline, SHARE, code="logits_held_at_once", look_at=look_at
    )
    rows, other = int(observation.facts["rows"]), chunk_rows_case(seed)
    if verdict.is_passed and rows > other.chunk_rows:
        return Verdict(
            "chunk_rows_ignored",
            f"logits of at most {other.chunk_rows} of {other.rows} rows at once, as chunk_rows says",
            f"{rows} rows at once",
            "You choose the size of a chunk yourself. `chunk_rows` is the most rows of a chunk: split() takes that "
            "size, chunk() the number of chunks.",
        )
    return verdict


@lru_cache(maxsize=8)
def _plain_saved_bytes(case: ChunkPeakCase) -> int:
    head, (hidden, targets) = case.make_head(), case.draw()
    return measure_saved_tensors(lambda: F.cross_entropy(head(hidden), targets)).total_bytes


@lru_cache(maxsize=8)
def _plain_peak(case: ChunkPeakCase, operators: str) -> PeakMemory:
    def prepare() -> dict[str, object]:
        head = case.make_head()
        hidden = torch.zeros(case.rows, case.width).requires_grad_()
        targets = torch.zeros(case.rows, dtype=torch.int64)

        def step() -> None:
            torch.autograd.backward(F.cross_entropy(head(hidden), targets))
            hidden.grad = head.weight.grad = None

        return {"step": step, "model": head, "inputs": (hidden, targets)}

    return forecast_peak_memory(prepare, operators=operators)


def _run(loss: Callable[..., Any], case: ChunkCase) -> dict[str, Any]:
    hidden, weight, targets = case.draw()
    value: dict[str, Any] = loss(hidden.detach(), weight.detach(), targets, case.chunk_rows, case.factor)
    return value


WHAT = {"loss": "loss", "hidden": "gradient of the hidden states", "weight": "gradient of the weight"}
DESCRIPTIONS: dict[str, Callable[[Any], str]] = {
    "loss": lambda loss: f"loss {loss:.6g}",
    "hidden": lambda gradient: f"a {WHAT['hidden']} of norm {gradient.norm():.5g}",
    "weight": lambda gradient: f"a {WHAT['weight']} of norm {gradient.norm():.5g}",
}
LOSS = "loss = loss - picked[kept].sum() / rows"
COUNT = "counted.sum()"
PART = "part = slice(start, start + chunk_rows)"
SCALED = "gradient * kept[:, None] / rows"
RANGE = "range(0, len(hidden), chunk_rows)"
TARGET = "gradient[torch.arange(len(gradient)), classes] -= 1"
LENGTH = "len(range(0, len(hidden), chunk_rows))"
HIDDEN, WEIGHT = '"hidden": hidden_gradient * upstream', '"weight": weight_gradient * upstream'

TABLE = ReferenceTable(
    chunked,
    Misconception(
        "ignored_rows_in_the_mean",
        "You divide by all rows, ignored ones included. The mean is over the rows whose target is not -100.",
        {COUNT: "len(targets)"},
        variants=[
            {LOSS: LOSS.replace("/ rows", "/ len(targets)")},
            {SCALED: "gradient * kept[:, None] / len(targets)"},
        ],
    ),
    Misconception(
        "ignored_rows_trained",
        "You give ignored rows a gradient. A target of -100 adds neither loss nor gradient.",
        {SCALED: "gradient / rows"},
        variants=[
            {"counted = targets != -100": "counted = targets != -101"},
            {LOSS: "loss = loss - picked.sum() / rows", SCALED: "gradient / rows"},
        ],
    ),
    Misconception(
        "mean_of_chunk_means",
        "You combine the means of the chunks. Chunks have different numbers of rows that count: add up their sums, and "
        "divide once.",
        {LOSS: f"loss = loss - picked[kept].sum() / kept.sum().clamp(min=1) / {LENGTH}"},
        variants=[
            {LOSS: f"loss = loss - picked[kept].mean() / {LENGTH}"},
            {
                LOSS: f"loss = loss - picked[kept].sum() / kept.sum().clamp(min=1) / {LENGTH}",
                SCALED: f"gradient * kept[:, None] / kept.sum().clamp(min=1) / {LENGTH}",
            },
            {
                LOSS: f"loss = loss - picked[kept].mean() / {LENGTH}",
                SCALED: f"gradient * kept[:, None] / kept.sum() / {LENGTH}",
            },
            {LOSS: "loss = loss - picked[kept].sum() / kept.sum().clamp(min=1)"},
            {SCALED: "gradient * kept[:, None] / kept.sum().clamp(min=1)"},
            {
                LOSS: "loss = loss - picked[kept].sum() / kept.sum().clamp(min=1)",
                SCALED: "gradient * kept[:, None] / kept.sum().clamp(min=1)",
            },
        ],
    ),
    Misconception(
        "mean_of_no_rows",
        "You take the mean of a chunk in which every row is ignored: 0 divided by 0 is NaN. Add up sums, and divide "
        "once.",
        {LOSS: "loss = loss - picked[kept].mean() * kept.sum() / rows"},
    ),
    Misconception(
        "softmax_overflows",
        "You compute exp() of large logits, which is infinite, and infinity over infinity is NaN. Subtract the largest "
        "logit of a row first, as softmax() does.",
        {
            "gradient = scores.exp()": "gradient = (hidden[part] @ weight.T).exp()\n"
            "        gradient = gradient / gradient.sum(dim=1, keepdim=True)"
        },
    ),
    Misconception(
        "sum_for_the_mean",
        "You return the sum over the rows. The loss is their mean.",
        {LOSS: "loss = loss - picked[kept].sum()", SCALED: "gradient * kept[:, None]"},
        variants=[{LOSS: "loss = loss - picked[kept].sum()"}],
    ),
    Misconception(
        "gradient_of_the_sum",
        "You compute the gradient of the sum, but the loss is a mean: divide the gradient by the same count.",
        {SCALED: "gradient * kept[:, None]"},
    ),
    Misconception(
        "last_chunk_lost",
        "You leave out the short last chunk. Go on until all rows are done.",
        {RANGE: "range(0, len(hidden) - chunk_rows + 1, chunk_rows)"},
        variants=[
            {RANGE: "range(0, len(hidden) // chunk_rows * chunk_rows, chunk_rows)"},
            {RANGE: "range(0, max(len(hidden) // chunk_rows, 1) * chunk_rows, chunk_rows)"},
        ],
    ),
    Misconception(
        "only_the_last_chunk",
        "You overwrite the gradient of the weight with each chunk. Every chunk adds to it.",
        {"weight_gradient += gradient.T": "weight_gradient = gradient.T"},
        variants=[{LOSS: "loss = -picked[kept].sum() / rows"}],
    ),
    Misconception(
        "upstream_gradient_ignored",
        "You ignore what arrives in backward. The gradient of the loss is 1 only if backward starts from it: multiply.",
        {HIDDEN: '"hidden": hidden_gradient', WEIGHT: '"weight": weight_gradient'},
        variants=[{HIDDEN: '"hidden": hidden_gradient'}, {WEIGHT: '"weight": weight_gradient'}],
    ),
    Misconception(
        "no_gradient_of_the_weight",
        "You return no gradient for the weight. `backward` returns one value for each argument of `apply`, in order.",
        {WEIGHT: '"weight": torch.zeros_like(weight)'},
    ),
    Misconception(
        "no_gradient_of_the_hidden_states",
        "You return no gradient for the hidden states, so no layer below the head learns.",
        {HIDDEN: '"hidden": torch.zeros_like(hidden)'},
    ),
    Misconception(
        "divided_twice",
        "You divide the gradients by the number of rows that count twice. Divide once, in forward or in backward.",
        {HIDDEN: f"{HIDDEN} / rows", WEIGHT: f"{WEIGHT} / rows"},
    ),
    Misconception(
        "log_softmax_for_softmax",
        "You take the log-softmax for the softmax in the gradient. The gradient has probabilities: softmax, or exp().",
        {"gradient = scores.exp()": "gradient = scores.clone()"},
    ),
    Misconception(
        "target_not_subtracted",
        "You do not subtract one at the target. The gradient of the logits is the softmax minus one there.",
        {TARGET: "pass"},
        variants=[{TARGET: TARGET.replace("-=", "+=")}],
    ),
    Misconception(
        "gradient_of_the_wrong_sign",
        "You subtract the softmax from the target, so the gradient points upwards. It is the softmax minus one there.",
        {SCALED: "-gradient * kept[:, None] / rows"},
    ),
    Misconception(
        "target_subtracted_in_every_row",
        "You subtract one in the columns of all targets, in every row. Each row has one target: index rows and columns "
        "in pairs.",
        {TARGET: "gradient[:, classes] -= 1"},
    ),
    Misconception(
        "softmax_over_rows",
        "You take the softmax over the rows of a chunk. Each row has a distribution over the vocabulary.",
        {"gradient = scores.exp()": "gradient = (hidden[part] @ weight.T).softmax(dim=0)"},
        variants=[{"log_softmax(dim=1)": "log_softmax(dim=0)"}],
    ),
    Misconception(
        "weight_gradient_averaged",
        "You average the gradient of the weight over the chunks. They add up: the mean is in each chunk's gradient.",
        {WEIGHT: f"{WEIGHT} / {LENGTH}"},
    ),
    Misconception(
        "class_zero_ignored",
        "You leave out the rows of class 0. It is a class like all others; -100 marks rows to leave out.",
        {"counted = targets != -100": "counted = targets > 0"},
        variants=[{SCALED: "gradient * (targets[part] > 0)[:, None] / rows"}],
    ),
    hard_coded(chunk_cases),
    run=_run,
    cases=chunk_cases,
    is_near=within(relative=1e-6, absolute=3e-7),  # an integer divided by an integer is a float32
)
