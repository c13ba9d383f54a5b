"""Numbers on the command line, rejected with a message before anything uses them."""

from __future__ import annotations

import argparse

LAST_PORT = 65_535


def at_least_one(text: str) -> int:
    """Read a count or a limit: a whole number from 1 on."""
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 student" or "2 students"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def port(text: str) -> int:
    """Read the number of a port."""
    number = at_least_one(text)
    if number > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is not a port: ports end at {LAST_PORT}")
    return number
