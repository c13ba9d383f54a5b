"""The steps that 8-bit Adam takes when one decision or another is made otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from grader.judging.lessons.adam_8bit.block_recipes import nearest_codes
from grader.lessons.adam_8bit.updates import EIGHT_BIT_STEPS, EightBitCase
from grader.testbed.block_codes import BLOCK, decode_blocks, encode_blocks, make_code_book

Moment = tuple[Tensor, Tensor] | Tensor


@dataclass(frozen=True)
class StepRecipe:
    """The decisions in one step; as they stand, the right ones.

    Attributes:
        books: Whose code book each moment has: "own", "signed", "unsigned", "swapped", or "linear" codes.
        quantized: Which moments are codes: "both", "mean", "square", or "none".
        limit: Numbers of the smallest quantized tensor; 0 for all tensors, -1 for those of two dimensions and more.
        block: Numbers of a block; 0 for one block per tensor.
        may_be_zero: Whether a second moment near zero gets code 0, which is 0.
        start: What the moments are before the first step: "zeros", or "code_zero", the codes 0 with scales of 1.
        kept: What the state keeps: the "new" moments, the "old" ones, only the new "mean" or only the new "square".
        weight_from: Whether the weight moves by the "exact" moments, or by the "encoded" ones.
        clock: Steps of the bias correction: "own", "shared" by all tensors, "one", "late" by one, "early" by one,
            "tensors", moved on by every tensor that is updated, "nonzero", of gradients that are not all zero, or
            "none" for moments that are not corrected.
        missing: A tensor without gradient is "skipped", updated with a gradient of "zero", or "decayed".
        group: Whose options a tensor has: "own", or those of the "first" or "last" group.
        decay: The weight decay is "decoupled", or "none".
        is_rate_fixed: Whether the learning rate of the first step is kept.
        fixed_decay: A weight decay that is used whatever the options are.
        fixed_rate: A learning rate that is used whatever the options are.
        gradient: Factor of the gradient.
        has_gradient_codes: Whether the gradient is encoded and decoded too.
        moves: How often a step updates moments and weight.
        betas: The betas in the order of their use.
        fixed_betas: Betas that are used whatever the options are.
        fixed_eps: An epsilon that is used whatever the options are.
    """

    books: str = "own"
    quantized: str = "both"
    limit: int = 4096
    block: int = BLOCK
    may_be_zero: bool = False
    start: str = "zeros"
    kept: str = "new"
    weight_from: str = "exact"
    clock: str = "own"
    missing: str = "skipped"
    group: str = "own"
    decay: str = "decoupled"
    is_rate_fixed: bool = False
    fixed_decay: float | None = None
    fixed_rate: float | None = None
    gradient: float = 1.0
    has_gradient_codes: bool = False
    moves: int = 1
    betas: tuple[int, int] = (0, 1)
    fixed_betas: tuple[float, float] | None = None
    fixed_eps: float | None = None


RIGHT = StepRecipe()


def walk(case: EightBitCase, index: int, recipe: StepRecipe) -> Iterator[Tensor]:
    """Yield one tensor of a case after each step, [numbers], and take no step that nobody asks for."""
    tensor = _Walk(case, index, recipe)
    for step in range(1, EIGHT_BIT_STEPS + 1):
        yield tensor.take(step).flatten()


def simulate(case: EightBitCase, index: int, recipe: StepRecipe) -> Tensor:
    """Return one tensor of a case after each step, [steps, numbers]."""
    return torch.stack(list(walk(case, index, recipe)))


class _Walk:
    """One tensor on its way through the steps."""

    def __init__(self, case: EightBitCase, index: int, recipe: StepRecipe):
        self.case, self.index, self.recipe = case, index, recipe
        self.group = {"own": case.groups[index], "first": 0, "last": len(case.decays) - 1}[recipe.group]
        self.betas = [(recipe.fixed_betas or case.betas)[place] for place in recipe.betas]
        self.eps = case.eps if recipe.fixed_eps is None else recipe.fixed_eps
        self.weight = case.make_weights()[index]
        self.block = recipe.block or self.weight.numel()
        is_large = self.weight.dim() > 1 if recipe.limit < 0 else self.weight.numel() >= recipe.limit
        self.has_codes = [is_large and recipe.quantized in ("both", name) for name in ("mean", "square")]
        self.books = _books(recipe.books)
        self.moments = [self._start(number) for number in range(2)]
        self.own_steps = 0

    def take(self, step: int) -> Tensor:
        """Take a step, counted from 1, and return the weight after it."""
        recipe, gradients = self.recipe, self.case.gradients(step)
        rate = recipe.fixed_rate or self.case.learning_rate(self.group, 1 if recipe.is_rate_fixed else step)
        gradient = gradients[self.index]
        decay = self.case.decays[self.group] if recipe.decay == "decoupled" else 0.0
        decay = decay if recipe.fixed_decay is None else recipe.fixed_decay
        if gradient is None:
            if recipe.missing == "decayed":
                self.weight = self.weight * (1 - rate * decay)
            if recipe.missing != "zero":
                return self.weight
            gradient = torch.zeros_like(self.weight)
        self.own_steps += 1
        if recipe.has_gradient_codes:
            gradient = decode_blocks(*encode_blocks(gradient, self.books[0]), self.books[0])
        mean, square_mean = (self._decoded(number) for number in range(2))
        for _ in range(recipe.moves):
            mean = mean.lerp(recipe.gradient * gradient, 1 - self.betas[0])
            square_mean = square_mean.lerp((recipe.gradient * gradient).square(), 1 - self.betas[1])
            moments = self._kept((mean, square_mean))
            self.weight = self._moved(moments, rate, decay, self._clock(step, gradients))
        return self.weight

    def _kept(self, moments: Sequence[Tensor]) -> Sequence[Tensor]:
        """Keep both moments, as codes where they are, and return those that move the weight."""
        for number, name in enumerate(("mean", "square")):
            if self.recipe.kept in ("new", name) or not self.has_codes[number]:
                self.moments[number] = self._encoded(moments[number], number)
        return [self._decoded(number) for number in range(2)] if self.recipe.weight_from == "encoded" else moments

    def _moved(self, moments: Sequence[Tensor], rate: float, decay: float, clock: int) -> Tensor:
        corrections = [1 - beta**clock for beta in self.betas]
        if self.recipe.clock == "none":
            corrections = [1.0, 1.0]
        if not all(corrections):
            return torch.full_like(self.weight, torch.nan)
        mean, square_mean = (moment / share for moment, share in zip(moments, corrections, strict=True))
        return self.weight * (1 - rate * decay) - rate * mean / (square_mean.sqrt() + self.eps)

    def _clock(self, step: int, gradients: Sequence[Tensor | None]) -> int:
        clocks = {"own": self.own_steps, "shared": step, "one": 1, "late": self.own_steps - 1}
        clocks |= {"early": self.own_steps + 1, "none": self.own_steps}
        if self.recipe.clock in clocks:
            return clocks[self.recipe.clock]
        if self.recipe.clock == "nonzero":
            mine = [self.case.gradients(number)[self.index] for number in range(1, step + 1)]
            return sum(gradient is not None and bool(gradient.any()) for gradient in mine)
        earlier = [[g is not None for g in self.case.gradients(before)] for before in range(1, step)]
        return sum(map(sum, earlier)) + sum(gradient is not None for gradient in gradients[: self.index + 1])

    def _start(self, number: int) -> Moment:
        zeros = torch.zeros_like(self.weight)
        if self.recipe.start == "code_zero" and self.has_codes[number]:
            return zeros.to(torch.uint8), torch.ones(-(-zeros.numel() // self.block))
        return self._encoded(zeros, number)

    def _encoded(self, moment: Tensor, number: int) -> Moment:
        if not self.has_codes[number]:
            return moment
        encode = nearest_codes if self.recipe.may_be_zero else encode_blocks
        return encode(moment, self.books[number], self.block)

    def _decoded(self, number: int) -> Tensor:
        moment = self.moments[number]
        return decode_blocks(*moment, self.books[number], self.block) if isinstance(moment, tuple) else moment


@lru_cache(maxsize=8)
def _books(kind: str) -> tuple[Tensor, Tensor]:
    signed, unsigned = make_code_book(is_signed=True), make_code_book(is_signed=False)
    linear = torch.linspace(-1, 1, 256), torch.linspace(0, 1, 256)
    books = {"signed": (signed, signed), "unsigned": (unsigned, unsigned), "swapped": (unsigned, signed)}
    return (books | {"linear": linear}).get(kind, (signed, unsigned))
