"""The concept inventory: its questions, and what each wrong choice shows."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "judging" / "inventory.toml"
LETTERS = "ABCD"
FORMS = ("before", "after")
STEMS = {"before": "90_inventory_before", "after": "91_inventory_after"}  # names of the assignments


class QuestionError(ValueError):
    """A question of the inventory that cannot be asked; the message names the file, the question and the remedy."""


@dataclass(frozen=True)
class Choice:
    """One choice of a question.

    Attributes:
        letter: "A" to "D".
        text: What it says.
        code: The misconception that it shows; "" for the right one.
        diagnosis: What the learner does, and where to look; "" for the right one.
    """

    letter: str
    text: str
    code: str = ""
    diagnosis: str = ""


@dataclass(frozen=True)
class Question:
    """One question of a form.

    Attributes:
        idea: The idea that it asks for, the same in both forms.
        form: "before" or "after".
        lesson: The number of the lesson that treats it.
        text: The question.
        choices: In the order of their letters.
    """

    idea: str
    form: str
    lesson: str
    text: str
    choices: tuple[Choice, ...]

    @property
    def check(self) -> str:
        """The name of its check."""
        return f"check_{self.idea}_{self.form}"

    @property
    def exercise(self) -> str:
        """The name of the function that answers it."""
        return f"answer_{self.idea}"

    @property
    def right(self) -> Choice:
        """The right choice."""
        return next(choice for choice in self.choices if not choice.code)


def read_questions(path: Path = FILE) -> tuple[Question, ...]:
    """Read the questions of both forms, those of the form "before" first.

    Raises:
        QuestionError: if the file or a question is damaged.
    """
    try:
        ideas = tomllib.loads(path.read_text(encoding="utf-8"))["idea"]
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise QuestionError(f"{path}: {error}. Restore the file from the repository.") from None
    return tuple(_question(path, idea, form) for form in FORMS for idea in ideas)


def _question(path: Path, idea: Mapping[str, Any], form: str) -> Question:
    try:
        asked, wrong = idea[form], [tuple(pair) for pair in idea["wrong"]]
        texts, right = list(asked["choices"]), asked["right"]
        if len(texts) != len(LETTERS) or len(wrong) != len(LETTERS) - 1 or right not in LETTERS:
            raise ValueError("it needs four choices, three of them wrong, and a letter from A to D")
        shown = [(text, *pair) for text, pair in zip(texts[1:], wrong, strict=True)]
        shown.insert(LETTERS.index(right), (texts[0], "", ""))
        choices = tuple(Choice(letter, *parts) for letter, parts in zip(LETTERS, shown, strict=True))
        return Question(idea["name"], form, idea["lesson"], asked["text"], choices)
    except (KeyError, TypeError, ValueError) as error:
        name = idea.get("name", "without a name")
        raise QuestionError(f"{path}: question {name}, form {form}: {error}. Correct it.") from None
