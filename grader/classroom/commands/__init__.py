"""An instructor's commands."""

from .command_line import register

__all__ = ["register"]
