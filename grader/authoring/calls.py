"""Read from the syntax what an exercise cell defines and what a check cell calls."""

from __future__ import annotations

import ast


def parsed(source: str) -> ast.Module | None:
    """Parse a cell, or return None if it is not valid Python."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


def sole_call(source: str) -> ast.Call | None:
    """Return the call that a cell consists of, or None if it is anything else."""
    module = parsed(source)
    if module is None or len(module.body) != 1:
        return None
    statement = module.body[0]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return statement.value
    return None


def called_name(source: str) -> str:
    """Return the name of the function that a check cell calls, or "" if it is not a single call of a name."""
    call = sole_call(source)
    return call.func.id if call and isinstance(call.func, ast.Name) else ""


def called_exercise(source: str) -> str:
    """Return the first argument of the call, which names the exercise, or "" if it is not a name."""
    call = sole_call(source)
    return call.args[0].id if call and call.args and isinstance(call.args[0], ast.Name) else ""


def functions_named(source: str, name: str) -> list[ast.FunctionDef]:
    """Return the functions of that name that a cell defines at its top level."""
    module = parsed(source)
    body = module.body if module else []
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.name == name]
