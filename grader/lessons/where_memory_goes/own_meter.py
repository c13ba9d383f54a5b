"""Steps whose peak memory is measured by a meter of the learner's own. They run on the CPU."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.testbed.chain import make_chain

Step = Callable[[], object]
ROUNDS = 12


@dataclass(frozen=True)
class WatchedStep:
    """One step to be measured.

    Attributes:
        what: What the step does, for a learner to read.
        rows: Rows of its tensors.
        width: Features of its tensors.
        build: Makes the step and all that exists before it is called.
    """

    what: str
    rows: int
    width: int
    build: Callable[[int, int], Step]

    def make_step(self) -> Step:
        """Build the step, with nothing left over from an earlier call."""
        return self.build(self.rows, self.width)


def watched_step_cases(seed: int) -> tuple[WatchedStep, ...]:
    """Return nine steps, each of which holds memory in another way."""
    draw = random.Random(seed)

    def case(what: str, build: Callable[[int, int], Step]) -> WatchedStep:
        return WatchedStep(what, draw.randrange(33, 80), 8 * draw.randrange(9, 20), build)

    return (
        case("an expression whose intermediate results die", _expression),
        case("an update of a small model", _update),
        case("a sort and a split, which return several tensors", _several_results),
        case("views and in-place operators", _views_and_in_place),
        case("an expression that writes into tensors that existed before", _existing_storages),
        case("a small view of a large result", _small_view),
        case("a step with its peak in the middle", _peak_in_the_middle),
        case(
            "tensors that existed before and are freed, each before a new one of its size is allocated",
            _existing_let_go,
        ),
        case("rounds of results that are dropped after each round", _rounds),
    )


def _expression(rows: int, width: int) -> Step:
    inputs = torch.ones(rows, width)
    return lambda: ((inputs * 2 + 1).sqrt() - inputs).square().mean()


def _update(rows: int, width: int) -> Step:
    model = make_chain(2, width, 3 * width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1, foreach=False)
    inputs = torch.ones(rows, width)

    def step() -> None:
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    return step


def _several_results(rows: int, width: int) -> Step:
    scores = torch.ones(rows, width)

    def step() -> tuple[Tensor, ...]:
        order = scores.sort(dim=1).indices  # the sorted values die
        largest, places = scores.max(dim=1)
        low, high = torch.split(scores.gather(1, order), [8, width - 8], dim=1)
        return low + largest.unsqueeze(1), high.relu(), places

    return step


def _views_and_in_place(rows: int, width: int) -> Step:
    table = torch.ones(rows, width)

    def step() -> Tensor:
        table.t()[1:].mul_(2)
        table.view(-1)[::2].add_(1)
        table[:, 0].zero_()
        return table.flatten()

    return step


def _existing_storages(rows: int, width: int) -> Step:
    inputs, results = torch.ones(rows, width), torch.zeros(rows + 1, width)

    def step() -> Tensor:
        torch.add(inputs, 1, out=results[1:])
        results[:-1].copy_(inputs[:, 1:2] * 2)
        inputs.sub_(results[0])
        return results.sum(dim=0)

    return step


def _small_view(rows: int, width: int) -> Step:
    inputs = torch.ones(rows, width)

    def step() -> Tensor:
        first_row = (inputs * 3).detach()[:1]  # the tensor of the product dies, and its whole storage stays
        aligned = torch.empty_strided((rows, width), (2 * width, 1))  # rows begin at every other multiple of `width`
        aligned.copy_(inputs)
        return first_row + aligned[-1:]

    return step


def _peak_in_the_middle(rows: int, width: int) -> Step:
    inputs, widen, narrow = torch.ones(rows, width), torch.ones(width, 5 * width), torch.ones(5 * width, width)
    kept: list[Tensor] = []

    def step() -> Tensor:
        hidden = (inputs @ widen).relu()
        kept[:] = [hidden @ narrow]
        del hidden
        return kept[0].sum()

    return step


def _existing_let_go(rows: int, width: int) -> Step:
    stored = [torch.ones(rows, width) for _ in range(ROUNDS)]

    def step() -> Tensor:
        total, results = torch.zeros(()), []
        while stored:
            total += stored.pop().sum()  # its storage dies here
            results.append(torch.zeros(rows, width))
        return total + sum(result[0, 0] for result in results)

    return step


def _rounds(rows: int, width: int) -> Step:
    inputs = torch.ones(rows, width)

    def step() -> None:
        for results_in_round in (*[6] * ROUNDS, 8):
            results = [inputs + number for number in range(results_in_round)]
            del results  # before the next round, so that its memory can be used again

    return step
