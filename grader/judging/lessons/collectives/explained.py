"""What a judge says of a mistake that it recognises."""

from __future__ import annotations

from typing import NamedTuple


class Explained(NamedTuple):
    """A mistake and what a learner is told of it.

    Attributes:
        code: Its stable name.
        look_at: What to look at.
        measured: What was measured, where another fact says more than the first wrong number; "" for that number.
    """

    code: str
    look_at: str
    measured: str = ""
