"""Reads from a sum which ranks are in it: rank r gave 16**r, so hexadecimal digit r counts how often it was added."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.judging.lessons.collectives.runs import COUNT_TOLERANCE
from grader.lessons.collectives.reductions import BASE

Digits = list[int]


def digits_of(value: float, ranks: int) -> Digits | None:
    """Return how often each rank is in a sum; None where the number is no sum of their numbers."""
    if not 0 <= value < float(BASE**ranks) or abs(value - round(value)) > COUNT_TOLERANCE:
        return None
    return [round(value) // BASE**rank % BASE for rank in range(ranks)]


def say_count(value: float) -> str:
    """Write a number as hexadecimal digits where it is whole, the highest rank first."""
    return f"{round(value):#x}" if value >= 0 and abs(value - round(value)) <= COUNT_TOLERANCE else f"{value:g}"


def total_of(ranks: int) -> float:
    """Return the number in which each rank is counted once."""
    return float(sum(BASE**rank for rank in range(ranks)))


def say_ranks(ranks: list[int]) -> str:
    """Write "rank 2" or "ranks 0 and 2"."""
    *others, last = map(str, ranks)
    return f"ranks {', '.join(others)} and {last}" if others else f"rank {last}"


def explain_digits(digits: Digits) -> str:
    """Say who is missing in a sum, and who is in it more than once."""
    missing = [rank for rank, digit in enumerate(digits) if digit == 0]
    repeated = [rank for rank, digit in enumerate(digits) if digit > 1]
    parts = []
    if missing:
        parts.append(f"{say_ranks(missing)} missing")
    if repeated:
        parts.append(f"{say_ranks(repeated)} counted {max(digits)} times" if max(digits) > 2 else "")
        parts[-1] = parts[-1] or f"{say_ranks(repeated)} counted twice"
    return ", ".join(parts)


def say_first_wrong(returned: list[Tensor], expected: list[Tensor], ranks: int) -> str:
    """Describe the first element that is wrong, by its digits."""
    for rank, (value, right) in enumerate(zip(returned, expected, strict=True)):
        flat, wanted = value.flatten().double(), right.flatten()
        if flat.shape != wanted.shape:
            return f"{len(flat)} elements on rank {rank}"
        wrong = torch.nonzero(~((flat - wanted).abs() <= COUNT_TOLERANCE)).flatten().tolist()
        if wrong:
            number = float(flat[wrong[0]])
            digits = digits_of(number, ranks)
            said = f" ({explain_digits(digits)})" if digits and explain_digits(digits) else ""
            return f"{say_count(number)} in element {wrong[0]} on rank {rank}{said}"
    return "the right numbers"
