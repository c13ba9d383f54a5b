"""What a run of ranks raises."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RankFailure:
    """How a rank that did not end well has ended.

    Attributes:
        rank: Its number.
        error_name: The class of the exception; "" where the rank was stopped or died.
        message: The exception's text, or what happened instead.
        function: The innermost function outside libraries, "" where there is none.
        line_number: Its line where it was written, in the notebook's cell; 0 where there is none.
        line: The text of that line.
        began_there: Whether the exception was raised by that line itself, and not by what it called.
        lines: The traceback, or where the rank was when it was stopped.
    """

    rank: int
    error_name: str
    message: str
    function: str = ""
    line_number: int = 0
    line: str = ""
    began_there: bool = False
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = f"{self.error_name}: " if self.error_name else ""
        place = f"\n    line {self.line_number} of {self.function}: {self.line}" if self.function else ""
        return f"rank {self.rank}: {name}{self.message}{place}"


class RankError(RuntimeError):
    """A run of ranks that did not end well; a notebook shows what each of them said, and no traceback of this package.

    Attributes:
        failures: The ranks that did not end well, the one that failed first in front.
        printed: What each rank had printed.
        is_late: Whether the run was ended by its limit.
    """

    def __init__(self, failures: list[RankFailure], printed: list[str], ended: str, limit_seconds: float):
        self.failures = failures
        self.printed = printed
        self.is_late = ended == "late"
        end = f"not all ranks ended within {limit_seconds:g} s" if self.is_late else "a rank failed; all were ended"
        super().__init__("\n".join([end, *map(str, failures)]))

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines instead of a traceback."""
        shown = [f"rank {rank} | {line}" for rank, text in enumerate(self.printed) for line in text.splitlines()]
        return [*shown, *self.failures[0].lines, *f"RankError: {self}".splitlines()]
