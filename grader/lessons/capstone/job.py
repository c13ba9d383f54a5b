"""A language model with a large vocabulary and long rows, to be trained leanly, and what a run of it does and holds."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.device import lesson_device
from grader.meters.operations import count_operations
from grader.observing.claims import claim_of, measure_claimed_peak
from grader.observing.contract import fail
from grader.observing.library_calls import record_library_calls
from grader.observing.recording import TrainingRecord, record_training
from grader.testbed.transformer import SmallTransformer, make_transformer

LEARNING_RATE = 3e-3
Train = Callable[..., Any]


@dataclass(frozen=True)
class JobCase:
    """One run of a language model.

    Attributes:
        layers: Blocks.
        width: Features of a position.
        heads: Attention heads of a block.
        vocabulary: Tokens that the model scores.
        time: Positions of a row that have a next token.
        rows: Of a batch.
        updates: Batches of the run.
        seed: Seed of weights and texts.
    """

    layers: int
    width: int
    heads: int
    vocabulary: int
    time: int
    rows: int
    updates: int
    seed: int

    def make_model(self) -> SmallTransformer:
        """Build the language model, without dropout."""
        return make_transformer(
            self.layers, self.width, self.heads, vocabulary=self.vocabulary, context=self.time, seed=self.seed
        )

    def make_batches(self) -> list[Tensor]:
        """Draw a batch [rows, time + 1] for each update, and one more to compare losses on.

        A token is followed by its double, or by a frequent token: there is something to learn in a few updates.
        """
        generator = torch.Generator().manual_seed(self.seed)
        tokens = torch.zeros(self.updates + 1, self.rows, self.time + 1, dtype=torch.int64)
        draws = torch.rand(tokens.shape, generator=generator)
        frequent = (draws**3 * self.vocabulary).long()
        doubles = torch.rand(tokens.shape, generator=generator) < 0.5
        tokens[..., 0] = frequent[..., 0]
        for place in range(1, self.time + 1):
            double = 2 * tokens[..., place - 1] % self.vocabulary
            tokens[..., place] = torch.where(doubles[..., place], double, frequent[..., place])
        return [batch.clone() for batch in tokens]  # with storages of their own, as on another device


def make_job_case(seed: int = 0) -> JobCase:
    """Return the run whose bytes and FLOPs count."""
    draw = random.Random(seed)
    return JobCase(6, 64, 4, draw.choice((1_920, 2_048, 2_176)), draw.choice((480, 512)), 4, 2, seed)


def result_cases(seed: int) -> tuple[JobCase, ...]:
    """Two small runs, whose gradients and losses count; the second one has rows that no power of two divides."""
    draw = random.Random(seed)
    return (
        JobCase(2, 32, 4, 64, 24, 8, 12, seed),
        JobCase(1, 24, 2, 48, draw.randrange(17, 23), draw.choice((5, 7)), 14, seed + 1),
    )


def mean_loss(model: SmallTransformer, batch: Tensor) -> Tensor:
    """Return the mean loss of all tokens of a batch [rows, time + 1] that have a next one."""
    return F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


def observe_result(train: Train, case: JobCase, calls: dict[str, Any] | None = None) -> tuple[Any, dict[str, Tensor]]:
    """Train once.

    Args:
        train: Called as `train(model, batches, learning_rate)`.
        case: The run.
        calls: Receives how libraries were used.

    Returns:
        "updates", and "loss" on a batch that was not trained on; gradient and weights at each update, where there are
        as many as batches.
    """
    model = case.make_model().to(lesson_device())
    *batches, other = [batch.to(lesson_device()) for batch in case.make_batches()]
    with record_training(model) as record, record_library_calls(record) as noted:
        train(model, batches, LEARNING_RATE)
    _require_float32(model)
    if calls is not None:
        calls.update(noted)
    with torch.no_grad():
        loss = mean_loss(model, other).item()
    facts = {"updates": record.events.count("update"), "loss": loss}
    if facts["updates"] != case.updates:
        return facts, {}
    tensors = {f"gradient.{index}": gradient for index, gradient in enumerate(record.gradients)}
    return facts, tensors | {f"weights.{index}": weights for index, weights in enumerate(record.weights[:-1])}


def observe_costs(train: Train, case: JobCase) -> dict[str, Any]:
    """Count the FLOPs of one run, and what is passed through the first block and the head."""
    model = case.make_model().to(lesson_device())
    batches = [batch.to(lesson_device()) for batch in case.make_batches()[:-1]]
    passes = Passes(case, model)
    try:
        with record_library_calls(TrainingRecord()), passes:
            operations = count_operations(lambda: train(model, batches, LEARNING_RATE))
    finally:
        passes.close()
    return {"flops": operations.flops, "operators": operations.operators} | passes.facts()


def measure_job_peak(train: Train, case: JobCase) -> dict[str, Any]:
    """Return the claim of the peak of a whole run, and what it consists of."""
    model = case.make_model().to(lesson_device())
    batches = [batch.to(lesson_device()) for batch in case.make_batches()[:-1]]
    with record_library_calls(TrainingRecord()):  # nothing is recorded: it keeps the Trainer from printing
        try:
            peak = measure_claimed_peak(lambda: train(model, batches, LEARNING_RATE), model=model, inputs=batches)
        except ValueError as error:
            if "more memory" not in str(error):
                raise
            look_at = "You keep tensors after the call. Look for lists, attributes or globals that hold them."
            fail("memory_kept", "no tensor kept after the call", str(error), look_at)
    _require_float32(model)
    return claim_of(peak, lesson_device())


def _require_float32(model: SmallTransformer) -> None:
    formats = {str(parameter.dtype).removeprefix("torch.") for parameter in model.parameters()} - {"float32"}
    if formats:
        look_at = "You convert the weights of the model. The contract keeps them in float32; autocast may do the rest."
        fail("weights_converted", "weights in float32", f"weights in {', '.join(sorted(formats))}", look_at)


class Passes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the passes through the first block, and the most rows of logits, while it is entered."""

    def __init__(self, case: JobCase, model: SmallTransformer):
        super().__init__()  # type: ignore[no-untyped-call]
        self._vocabulary, self._waiting = case.vocabulary, 0
        self.logit_rows = self.most_waiting = self.largest = self.positions = self.recomputed = 0
        block: Any = model.blocks[0]
        layer = block.attention.query_key_value
        self._handles = [layer.register_forward_hook(self._note_forward)]
        self._handles.append(layer.weight.register_post_accumulate_grad_hook(self._note_backward))

    def facts(self) -> dict[str, int]:
        """Return what was seen.

        Returns:
            "positions", of all forwards of the first block; "largest", of one of them; "most_waiting", of forwards
            whose backward had not come; "recomputed", of forwards in a backward; "logit_rows", the most rows of
            numbers for each token of the vocabulary.
        """
        names = ("positions", "largest", "most_waiting", "recomputed", "logit_rows")
        return {name: getattr(self, name) for name in names}

    def close(self) -> None:
        """Leave the model alone."""
        for handle in self._handles:
            handle.remove()

    def _note_forward(self, _: Any, __: Any, output: Tensor) -> None:
        positions = output.numel() // output.shape[-1]
        if torch._C._current_graph_task_id() != -1:
            self.recomputed += positions
            return
        self.positions += positions
        self.largest = max(self.largest, positions)
        self._waiting += positions
        self.most_waiting = max(self.most_waiting, self._waiting)

    def _note_backward(self, _: Tensor) -> None:
        self._waiting = 0

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = operator(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor) and tensor.dim() > 1 and tensor.is_floating_point():
                if tensor.shape[-1] == self._vocabulary:
                    self.logit_rows = max(self.logit_rows, tensor.numel() // self._vocabulary)
        return result
