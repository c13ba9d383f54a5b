"""Edits the source of a reference, and compiles what comes out of it."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from grader.judging.misconceptions import Edits, TableError

LAZY_TYPES = "from __future__ import annotations\n\n"

Part = Callable[..., Any]  # a function or a class


class Source:
    """The source of a reference: one function or class, or several that use each other, the one to be run first.

    Attributes:
        parts: The functions and classes.
        text: Their source, one after the other.
    """

    def __init__(self, parts: Sequence[Part]):
        self.parts = tuple(parts)
        self.text = "\n\n".join(textwrap.dedent(inspect.getsource(part)) for part in self.parts)

    def compile(self, code: str, edits: Edits) -> CodeType:
        """Compile the source as a misconception edits it.

        Args:
            code: The misconception's code.
            edits: Texts to be replaced, all at once.

        Raises:
            TableError: if a text does not occur exactly once, two overlap, or the edited source does not
                compile.
        """
        for removed in edits:
            count = self.text.count(removed)
            if count != 1:
                remedy = "take in more of its line" if count else "copy it from there"
                raise TableError(f"{code!r} replaces {removed!r}, which is {count} times in {self._names}: {remedy}")
        pattern = "|".join(map(re.escape, edits))
        text, replaced = re.subn(pattern, lambda found: edits[found[0]], self.text)
        if replaced < len(edits):
            raise TableError(f"{code!r} has edits that overlap in {self._names}: make them one edit")
        try:
            compiled: CodeType = compile(f"{LAZY_TYPES}{text}", f"<{self._names}, edited for {code}>", "exec")
            return compiled
        except SyntaxError as error:
            line = (error.text or "").strip()
            raise TableError(f"{code!r} leaves a line that does not compile: {line!r} ({error.msg})") from None

    def load(self, compiled: CodeType) -> Part:
        """Run edited source in a copy of its module's names, and return the part that is to be run."""
        first = self.parts[0]
        names = dict(vars(sys.modules[first.__module__]))
        exec(compiled, names)
        part: Part = names[first.__name__]
        return part

    @property
    def _names(self) -> str:
        return ", ".join(part.__name__ for part in self.parts)
