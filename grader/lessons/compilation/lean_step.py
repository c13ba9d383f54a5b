"""A language model's step that is slow and large, and what a leaner one does and holds."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from grader.device import lesson_device
from grader.meters.operations import count_operations
from grader.observing.claims import claim_of, measure_claimed_peak
from grader.observing.contract import fail
from grader.observing.recording import record_training
from grader.testbed.transformer import SmallTransformer, make_transformer

STEP_LEARNING_RATE = 0.1


@dataclass(frozen=True)
class StepCase:
    """One update of a language model on texts of unequal lengths.

    Attributes:
        width: Features of a position.
        heads: Attention heads of a block.
        vocabulary: Tokens that the model scores.
        context: The longest text that it can read.
        lengths: Tokens of each text.
        is_head_tied: Whether the head shares the weight of the token embedding.
        seed: Seed of weights and texts.
    """

    width: int
    heads: int
    vocabulary: int
    context: int
    lengths: tuple[int, ...]
    is_head_tied: bool
    seed: int

    def make_model(self) -> SmallTransformer:
        """Build the language model, with two blocks and without dropout."""
        return make_transformer(
            2,
            self.width,
            self.heads,
            vocabulary=self.vocabulary,
            context=self.context,
            is_head_tied=self.is_head_tied,
            seed=self.seed,
        )

    def make_texts(self) -> list[Tensor]:
        """Draw the tokens of each text."""
        generator = torch.Generator().manual_seed(self.seed)
        return [torch.randint(0, self.vocabulary, (length,), generator=generator) for length in self.lengths]

    def make_optimizer(self, model: nn.Module) -> torch.optim.SGD:
        """Build plain SGD."""
        return torch.optim.SGD(model.parameters(), lr=STEP_LEARNING_RATE, foreach=False)


def make_lean_case(seed: int = 0) -> StepCase:
    """Return the step whose bytes and operations count: two long texts among many short ones."""
    draw = random.Random(seed)
    context = draw.choice((224, 256, 288))
    lengths = [draw.randrange(context // 20, context // 6) for _ in range(draw.randrange(17, 20))]
    for _ in range(2):
        lengths.insert(draw.randrange(len(lengths) + 1), context - draw.randrange(3, 12))
    return StepCase(32, 4, 6 * context, context, tuple(lengths), False, seed)


def step_gradient_cases(seed: int) -> tuple[StepCase, ...]:
    """Small steps: one long text; several long ones and a tied head; one text alone; texts of one length."""
    draw = random.Random(seed)
    short = [draw.randrange(4, 9) for _ in range(6)]
    several = [*short[:3], 22, 19, *short[3:], 24]
    draw.shuffle(several)
    return (
        StepCase(16, 2, 50, 160, (5, 150, 7, 4, 6), False, seed),
        StepCase(16, 4, 40, 24, tuple(several), True, seed + 1),
        StepCase(16, 2, 40, 20, (draw.randrange(5, 16),), False, seed + 2),
        StepCase(16, 2, 40, 20, (draw.randrange(5, 9),) * 4, False, seed + 3),
    )


def run_step(step: Callable[..., Any], case: StepCase) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Call `step(model, optimizer, texts)` once.

    Returns:
        "updates", "given_steps" of the case's optimizer, "formats" of the weights at the end, "gradients_left", and
        what `Shapes` has seen, with "flops" and "operators"; the gradient and the weights at the update.
    """
    model = case.make_model().to(lesson_device())
    optimizer = case.make_optimizer(model)
    texts = [text.to(lesson_device()) for text in case.make_texts()]
    given_steps: list[str] = []
    handle = optimizer.register_step_pre_hook(lambda *_: given_steps.append("step"))
    shapes = Shapes(case, model)
    try:
        with record_training(model) as record, shapes:
            operations = count_operations(lambda: step(model, optimizer, texts))
    finally:
        handle.remove()
        shapes.close()
    facts = {
        "updates": record.events.count("update"),
        "given_steps": len(given_steps),
        "formats": sorted({str(parameter.dtype).removeprefix("torch.") for parameter in model.parameters()}),
        "gradients_left": sum(parameter.grad is not None for parameter in model.parameters()),
        "flops": operations.flops,
        "operators": operations.operators,
    }
    tensors = {"end": record.weights[-1]}
    if record.gradients:
        tensors |= {"gradient": record.gradients[0], "start": record.weights[0]}
    return facts | shapes.facts(), tensors


def measure_lean_peak(step: Callable[..., Any], case: StepCase) -> dict[str, Any]:
    """Return the claim of the peak of `step(model, optimizer, texts)`."""
    model = case.make_model().to(lesson_device())
    optimizer = case.make_optimizer(model)
    texts = [text.to(lesson_device()) for text in case.make_texts()]
    try:
        peak = measure_claimed_peak(
            lambda: step(model, optimizer, texts), model=model, optimizer=optimizer, inputs=texts
        )
    except ValueError as error:
        if "more memory" not in str(error):
            raise
        look_at = "You keep tensors after the call. Look for lists, attributes or globals that hold them."
        fail("memory_kept", "no tensor kept after the call", str(error), look_at)
    return claim_of(peak, lesson_device())


class Shapes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the largest tensors of two kinds, and what the first block reads, while it is entered."""

    def __init__(self, case: StepCase, model: SmallTransformer):
        super().__init__()  # type: ignore[no-untyped-call]
        self._vocabulary = case.vocabulary
        self.logit_rows = self.score_numbers = self.widest = 0
        self.forwards: list[int] = []
        self.formats: set[str] = set()
        block: Any = model.blocks[0]
        layer = block.attention.query_key_value
        self._handles = [layer.register_forward_pre_hook(self._note_block)]
        self._handles += [layer.register_forward_hook(lambda _, __, made: self._note_format(made))]

    def facts(self) -> dict[str, Any]:
        """Return what was seen.

        Returns:
            "logit_rows", the most rows of numbers for each token of the vocabulary; "score_numbers", the largest
            square of positions; "forwards", the positions of each forward of the first block, padding included;
            "widest", the most positions of a row; "computed_in", the formats of its products. Forwards that run again
            during backward do not count.
        """
        names = ("logit_rows", "score_numbers", "forwards", "widest")
        return {name: getattr(self, name) for name in names} | {"computed_in": sorted(self.formats) or ["float32"]}

    def close(self) -> None:
        """Leave the model alone."""
        for handle in self._handles:
            handle.remove()

    def _note_format(self, made: Tensor) -> None:
        self.formats.add(str(made.dtype).removeprefix("torch."))

    def _note_block(self, _: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        if torch._C._current_graph_task_id() == -1:
            self.forwards.append(arguments[0].numel() // arguments[0].shape[-1])
            self.widest = max(self.widest, arguments[0].shape[-2])

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = operator(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor) and tensor.dim() > 1 and tensor.is_floating_point():
                if tensor.shape[-1] == self._vocabulary:
                    self.logit_rows = max(self.logit_rows, tensor.numel() // self._vocabulary)
                if tensor.dim() > 2 and tensor.shape[-1] == tensor.shape[-2]:
                    self.score_numbers = max(self.score_numbers, tensor.numel())
        return result
