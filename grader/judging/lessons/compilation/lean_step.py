"""Judges a step that is to be made lean: its gradient, then its operations, then its bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.budget import claimed_peak_bytes
from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.kept import keep_cases
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.compilation.lean_step import STEP_LEARNING_RATE, StepCase, make_lean_case, step_gradient_cases
from grader.meters.forecast import forecast_peak_memory
from grader.meters.operations import Operations, count_operations
from grader.meters.peak import PeakMemory
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.testbed.transformer import SmallTransformer
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

# Of the slow step's. A step without any of its three reasons needs 0.02 to 0.04, 0.2 and 1.4 to 2.9; with one of them
# left it needs 0.06 of the bytes, or 0.4 of the FLOPs, and text by text 10 times the operators.
BYTES, FLOPS, OPERATORS = 0.05, 0.25, 4
EQUAL_LENGTHS = 3  # the place of the setting without padding


def step_gradient(case: StepCase) -> Tensor:
    """Return the gradient of the mean loss of all tokens that have a next one."""
    model, texts = case.make_model(), case.make_texts()
    total: Any = 0
    for text in texts:
        logits = model(text[None, :-1])[0]
        total = total + F.cross_entropy(logits, text[1:], reduction="sum")
    loss = total / sum(len(text) - 1 for text in texts)
    parts = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True)
    return torch.cat([part.flatten() for part in parts])


def judge_lean_gradient(observation: Observation, seed: int) -> Verdict:
    """Judge the update and its gradient in small settings."""
    cases = step_gradient_cases(seed)
    verdict = _judge_gradients(_updates_of(observation, cases), seed)
    verdict = verdict or _judge_weights(observation, len(cases))
    return verdict or Verdict(PASSED, "", f"one update with the gradient of the slow step, in {len(cases)} settings")


def judge_lean_step(observation: Observation, seed: int) -> Verdict:
    """Judge the gradient of the large setting, then FLOPs, operators and bytes."""
    case, (claim,) = make_lean_case(seed), observation.facts["claims"]
    (update,) = _updates_of(observation, (case,))
    facts = observation.facts["settings"][0]
    wrong, positions = EVENTS.judge(update), sum(facts["forwards"])
    if wrong or not _is_near(update.gradient, _large_gradient(case)):
        expected, measured = (wrong.expected, wrong.measured) if wrong else ("its gradient", "another gradient")
        look_at = "You do not do what the slow step does. The check above says where; if it passes, compare the two "
        look_at += f"steps on texts of up to {max(case.lengths)} tokens."
        if not wrong and positions < update.targets:
            look_at = (
                f"You run {positions} positions for {update.targets} tokens that have a next one, so you cut texts "
            )
            look_at += "or leave some out. Train on all of each text."
        return Verdict("budget_of_another_update", expected, measured, look_at)
    slow = _slow_operations(case)
    held = int(claim["above_entry_bytes"])
    claimed_peak_bytes(claim, distinct_storage_bytes([*case.make_model().parameters(), *case.make_texts()]))
    run = LeanRun(case, facts, facts["flops"] / slow.flops, facts["operators"] / slow.operators)
    allowed = f"at most {FLOPS:.0%} of the slow step's {slow.flops / 1e9:.3g} GFLOPs"
    if run.flops_share > FLOPS:
        return FLOP_CAUSES.explain(run, expected=allowed, measured=f"{run.flops_share:.0%}", otherwise=MANY_FLOPS)
    allowed = f"at most {OPERATORS} times the slow step's {slow.operators:,} operators"
    if run.operators_share > OPERATORS:
        measured = f"{facts['operators']:,}, which is {run.operators_share:.1f} times as many"
        return OPERATOR_CAUSES.explain(run, expected=allowed, measured=measured, otherwise=MANY_OPERATORS)
    baseline = _slow_peak(case, "cpu" if claim["device"] == "cpu" else "cuda").above_entry_bytes
    measured = f"{format_bytes(held)}, which is {held / baseline:.1%} of the slow step's {format_bytes(baseline)}"
    expected = f"at most {BYTES:.0%} of the slow step's {format_bytes(baseline)}: {format_bytes(BYTES * baseline)}"
    if held > BYTES * baseline:
        return BYTE_CAUSES.explain(run, expected=expected, measured=measured, otherwise=MANY_BYTES)
    measured += f"; {run.flops_share:.0%} of its FLOPs, {run.operators_share:.1f} times its operators"
    return Verdict(PASSED, expected, measured)


def _updates_of(observation: Observation, cases: tuple[StepCase, ...]) -> list[LeanUpdate]:
    settings = observation.facts["settings"]
    return [
        LeanUpdate(case, settings[index], observation.tensors.get(f"{index}.gradient"))
        for index, case in enumerate(cases)
    ]


def _judge_gradients(updates: list[LeanUpdate], seed: int) -> Verdict | None:
    for update in updates:
        verdict = EVENTS.judge(update)
        if verdict:
            return verdict
    answer = TABLE.answer(seed, [update.gradient for update in updates])
    if answer.is_right:
        return None
    update = replace(updates[answer.wrong[0]], is_padding_alone=EQUAL_LENGTHS not in answer.wrong)
    expected = f"the gradient of the mean loss over {update.targets} tokens, of norm {answer.truth.norm():.4g}"
    measured = f"a gradient of norm {answer.value.norm():.4g}"
    named = TABLE.find(answer) or TABLE.find(answer.only(EQUAL_LENGTHS))  # without padding, whatever the groups are
    if named:
        return named.verdict(answer, expected, measured)
    otherwise = (
        f"You make another update than slow_step on texts of {update.case.lengths} tokens. Compare the two part "
    )
    otherwise += "by part: embeddings and positions, attention with its scale and mask, every norm, targets, the count."
    return WEIGHTS.explain(update, expected=expected, measured=measured, otherwise=otherwise)


def _judge_weights(observation: Observation, settings: int) -> Verdict | None:
    for index in range(settings):
        start, end, gradient = (
            observation.tensors[f"{index}.{name}"].double() for name in ("start", "end", "gradient")
        )
        if compare(end - start, -STEP_LEARNING_RATE * gradient).relative_error > 1e-2:  # float32 weights round it
            look_at = "You change the weights beyond the optimizer's step. Leave them to the step."
            return Verdict("weights_changed", "the weights after one step of SGD", "other weights", look_at)
    return None


@dataclass(frozen=True, eq=False)
class LeanUpdate:
    """What one call did.

    Attributes:
        case: The setting.
        facts: What was recorded.
        gradient: The gradient at the update; None where there was none.
        is_padding_alone: Whether the gradient is right where all texts have one length.
    """

    case: StepCase
    facts: Mapping[str, Any]
    gradient: Tensor | None
    is_padding_alone: bool = False

    @property
    def updates(self) -> int:
        """How many updates there were."""
        return int(self.facts["updates"])

    @property
    def formats(self) -> str:
        """The formats of the weights at the end, and of the products."""
        return ", ".join(sorted({*self.facts["formats"], *self.facts["computed_in"]}))

    @property
    def targets(self) -> int:
        """Tokens that have a next one."""
        return sum(length - 1 for length in self.case.lengths)

    @cached_property
    def weights(self) -> Tensor | None:
        """What each token's loss weighs in the gradient; None if the gradient is no sum of the tokens'."""
        assert self.gradient is not None
        parts, wanted = _gradients_of_tokens(self.case), self.gradient.double()
        weights = torch.linalg.lstsq(parts, wanted[:, None]).solution[:, 0]
        left = wanted - parts @ weights
        return weights if left.norm() <= RELATIVE_TOLERANCE * wanted.norm() else None

    @property
    def counted_as(self) -> float:
        """By how many tokens the sum of all losses was divided; 0 where tokens weigh unequally."""
        if self.weights is None or (self.weights - self.weights.mean()).abs().max() > 1e-2 * self.weights.abs().max():
            return 0.0
        return 1 / float(self.weights.mean())

    @property
    def missing(self) -> int:
        """Tokens that weigh nothing."""
        return 0 if self.weights is None else int((self.weights.abs() < 1e-2 * self.weights.abs().max()).sum())


@keep_cases
def _gradients_of_tokens(case: StepCase) -> Tensor:
    """Return the gradient of each token's loss, [parameters, tokens]."""
    model, parts = case.make_model().double(), []
    for text in case.make_texts():
        with torch.enable_grad():
            losses = F.cross_entropy(model(text[None, :-1])[0], text[1:], reduction="none")
        for loss in losses:
            gradients = torch.autograd.grad(
                loss, list(model.parameters()), retain_graph=True, allow_unused=True, materialize_grads=True
            )
            parts.append(torch.cat([gradient.flatten() for gradient in gradients]))
    return torch.stack(parts, dim=1)


def _is_near(answer: Any, value: Any) -> bool:
    if not isinstance(answer, Tensor) or answer.shape != value.shape or not bool(answer.isfinite().all()):
        return False
    return compare(answer, value).is_equal


EVENTS = Table[LeanUpdate](
    Misconception(
        "computed_in_16_bit",
        "You run blocks in 16 bit, which changes the gradient. Find what costs bytes and leaves it as it is.",
        shown_by=lambda update: update.facts["formats"] == ["float32"] and update.facts["computed_in"] != ["float32"],
        expected="products in float32",
        measured="blocks in {formats}",
    ),
    Misconception(
        "weights_converted",
        "You convert the weights. Leave them in float32: fewer bits are another task.",
        shown_by=lambda update: update.facts["formats"] != ["float32"],
        expected="weights that stay float32",
        measured="weights in {formats}",
    ),
    Misconception(
        "no_update",
        "You never step. Call optimizer.step() once the gradient of all texts is there.",
        shown_by=lambda update: not update.updates,
        expected="one update",
        measured="no update",
    ),
    Misconception(
        "several_updates",
        "You step {updates} times. Groups of texts add to one gradient, and then comes one step.",
        shown_by=lambda update: update.updates > 1,
        expected="one update",
        measured="{updates} updates",
    ),
    Misconception(
        "another_optimizer",
        "You step with an optimizer of your own. Use the given one.",
        shown_by=lambda update: update.facts["given_steps"] != 1,
        expected="one update by the given optimizer",
        measured="a step of another one",
    ),
    Misconception(
        "gradients_left",
        "You leave tensors in .grad, which hold memory and which the next call adds to. Call zero_grad() after the "
        "step, as slow_step does: with set_to_none=False it keeps them as zeros.",
        shown_by=lambda update: update.facts["gradients_left"] > 0,
        expected="every .grad None when the call ends",
        measured="{facts[gradients_left]} parameters with a tensor in .grad",
    ),
)

WEIGHTS = Table[LeanUpdate](
    Misconception(
        "gradient_not_finite",
        "You compute a gradient that is not finite. Look for a group without texts, and for a softmax over nothing.",
        shown_by=lambda update: update.gradient is not None and not bool(update.gradient.isfinite().all()),
    ),
    Misconception(
        "divided_by_another_count",
        "You divide the sum of all losses by {counted_as:.0f}. Divide by the {targets} tokens that have a next one.",
        shown_by=lambda update: update.counted_as != 0.0,
    ),
    Misconception(
        "tokens_left_out",
        "You leave out {missing} of {targets} tokens. No text may be cut or skipped: each belongs to a group, and the "
        "last chunk of a loss may be short.",
        shown_by=lambda update: update.missing > 0,
    ),
    Misconception(
        "tokens_weighed_unequally",
        "You weigh tokens unequally, as a mean of the means of groups or chunks does. Divide every sum by the one "
        "count of all tokens that have a next one.",
        shown_by=lambda update: update.weights is not None,
    ),
    Misconception(
        "texts_attend_to_each_other",
        "You pack texts into one row, {facts[widest]} positions wide, in which a text attends to those before it. Mask "
        "them, or give each text a row.",
        shown_by=lambda update: update.facts["widest"] > update.case.context,
    ),
    Misconception(
        "padding_in_the_gradient",
        "You let padding change the gradient, which is right where all texts have one length. Pad on the right, give "
        "padding the target -100, and divide by a count without it.",
        shown_by=lambda update: update.is_padding_alone,
    ),
)
LOSS = 'F.cross_entropy(logits, text[1:], reduction="sum")'
FORWARD = "model(text[None, :-1])[0]"
SIZE = "sum(len(text) - 1 for text in texts)"
MISCONCEPTIONS: tuple[Misconception[Any], ...] = (
    Misconception(
        "sum_for_the_mean",
        "You never divide the sum of the losses. Divide it by the number of tokens that have a next one.",
        {SIZE: "1"},
    ),
    Misconception(
        "targets_not_shifted",
        "You let each token predict itself. The target of a position is the next token.",
        {LOSS: LOSS.replace("text[1:]", "text[:-1]")},
        variants=[
            {LOSS: LOSS.replace("text[1:]", "text"), FORWARD: "model(text[None])[0]", SIZE: "sum(map(len, texts))"},
            {LOSS: LOSS.replace("text[1:]", "text"), FORWARD: "model(text[None])[0]"},
        ],
    ),
    Misconception(
        "future_attended",
        "You let positions attend to later ones, which hold the answer. Attention is causal: look at is_causal.",
        {FORWARD: "model(text[None, :-1], mask=torch.ones(len(text) - 1, len(text) - 1, dtype=torch.bool))[0]"},
        variants=[{FORWARD: "model(text[None], mask=torch.ones(len(text), len(text), dtype=torch.bool))[0, :-1]"}],
    ),
)


def _run(gradient: Callable[[StepCase], Tensor], case: StepCase) -> Tensor:
    with torch.enable_grad():
        return gradient(case)


TABLE = ReferenceTable(
    step_gradient,
    *MISCONCEPTIONS,
    hard_coded(step_gradient_cases),
    run=_run,
    cases=step_gradient_cases,
    is_near=_is_near,
)


@keep_cases
def _large_gradient(case: StepCase) -> Tensor:
    return _run(step_gradient, case)


@dataclass(frozen=True, eq=False)
class LeanRun:
    """What a right step did and held.

    Attributes:
        case: The setting.
        facts: What was recorded.
        flops_share: Its FLOPs, over the slow step's.
        operators_share: Its operators, over the slow step's.
    """

    case: StepCase
    facts: Mapping[str, Any]
    flops_share: float
    operators_share: float

    @property
    def longest(self) -> int:
        """Positions of the longest text."""
        return max(self.case.lengths) - 1

    @property
    def forwards(self) -> int:
        """Forwards of the first block."""
        return len(self.facts["forwards"])

    @property
    def texts(self) -> int:
        """How many texts there are."""
        return len(self.case.lengths)

    @property
    def positions(self) -> int:
        """Positions that the first block has computed, padding included."""
        return sum(self.facts["forwards"])

    @property
    def tokens(self) -> int:
        """Tokens of all texts."""
        return sum(self.case.lengths)


FLOP_CAUSES = Table[LeanRun](
    Misconception(
        "padded_to_the_context",
        "You pad every text to the context of the model: {positions} positions for {tokens} tokens. A batch may be as "
        "narrow as its longest text.",
        shown_by=lambda run: run.positions >= run.texts * (run.case.context - 1),
    ),
    Misconception(
        "padded_to_the_longest_text",
        "You pad every text to the longest one: {positions} positions for {tokens} tokens. One long text widens the "
        "batch of all the others; put texts of similar length together.",
        shown_by=lambda run: run.positions >= run.texts * run.longest,
    ),
    Misconception(
        "square_of_all_texts",
        "You pack all texts into one row, and attention computes every pair of its {facts[widest]} positions.",
        shown_by=lambda run: run.facts["widest"] > run.case.context,
    ),
    Misconception(
        "padding_left",
        "You still compute {positions} positions for {tokens} tokens. Look at the widths of the groups.",
        shown_by=lambda run: run.positions > 1.6 * run.tokens,
    ),
)
MANY_FLOPS = "You compute too much. Count the positions of each forward, and the products that run on them."
OPERATOR_CAUSES = Table[LeanRun](
    Misconception(
        "one_text_at_a_time",
        "You run {forwards} forwards for {texts} texts: no padding, but many small operators, and a GPU waits for each "
        "launch (lesson 10). Group texts.",
        shown_by=lambda run: run.forwards > run.texts // 2,
    ),
    Misconception(
        "chunks_too_small",
        "You cut the loss into many small chunks, of which each runs several operators. Take larger ones.",
        shown_by=lambda run: 0 < run.facts["logit_rows"] < run.longest // 4,
    ),
)
MANY_OPERATORS = "You run many small operators. Look for loops over rows, tokens or heads."
BYTE_CAUSES = Table[LeanRun](
    Misconception(
        "scores_and_logits_held",
        "You hold attention's scores, [positions, positions] for each head, and the logits of a whole text. Lessons 12 "
        "and 13 have a way to hold neither.",
        shown_by=lambda run: _holds_scores(run) and _holds_logits(run),
    ),
    Misconception(
        "scores_held",
        "You hold attention's scores, [positions, positions] for each head. Lesson 12 has attention without them.",
        shown_by=lambda run: _holds_scores(run),
    ),
    Misconception(
        "logits_held",
        "You hold the logits of {facts[logit_rows]} positions at once. Compute the loss chunk by chunk. PyTorch's "
        "fused loss does that with `options` only.",
        shown_by=lambda run: _holds_logits(run),
    ),
)
MANY_BYTES = "You hold too much. Look for graphs of several groups: call backward() for each, and keep no list."


def _holds_scores(run: LeanRun) -> bool:
    return bool(run.facts["score_numbers"] >= run.case.heads * (run.longest - 1) ** 2)


def _holds_logits(run: LeanRun) -> bool:
    return bool(run.facts["logit_rows"] >= run.longest // 2)


def slow_step(model: SmallTransformer, optimizer: torch.optim.Optimizer, texts: list[Tensor]) -> None:
    """Update a model as the notebook does at first."""
    context = model.position_embedding.num_embeddings
    tokens = torch.stack([F.pad(text, (0, context - len(text))) for text in texts])
    targets = torch.stack([F.pad(text[1:], (0, context + 1 - len(text)), value=-100) for text in texts])
    states = model.token_embedding(tokens) + model.position_embedding.weight
    block: Any
    for block in model.blocks:
        states = states + _attend(block, states)
        states = states + block.feed_forward(block.feed_forward_norm(states))
    logits = model.head(model.final_norm(states))
    torch.autograd.backward(F.cross_entropy(logits.flatten(0, 1), targets.flatten()))
    optimizer.step()
    optimizer.zero_grad()


def _attend(block: Any, states: Tensor) -> Tensor:
    rows, time, _ = states.shape
    mixed = block.attention.query_key_value(block.attention_norm(states))
    query, key, value = mixed.view(rows, time, 3, block.attention.heads, -1).permute(2, 0, 3, 1, 4)
    future = torch.ones(time, time, dtype=torch.bool, device=states.device).triu(1)
    scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(future, float("-inf"))
    attended: Tensor = block.attention.output((scores.softmax(dim=-1) @ value).transpose(1, 2).reshape(states.shape))
    return attended


@keep_cases
def _slow_operations(case: StepCase) -> Operations:
    model, texts = case.make_model(), case.make_texts()
    optimizer = case.make_optimizer(model)
    with torch.enable_grad():
        return count_operations(lambda: slow_step(model, optimizer, texts))


@keep_cases
def _slow_peak(case: StepCase, operators: str) -> PeakMemory:
    def prepare() -> dict[str, object]:
        model, texts = case.make_model(), case.make_texts()
        optimizer = case.make_optimizer(model)

        def step() -> None:
            slow_step(model, optimizer, texts)

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": texts}

    return forecast_peak_memory(prepare, operators=operators)
