"""The commands of an instructor, and the whole gradings that they run."""

from .command_line import register

__all__ = ["register"]
