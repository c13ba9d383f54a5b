"""How many results a cell can show, read from its text: any beside them are not its own."""

from __future__ import annotations

import ast

ANY_NUMBER = 10**6
ALWAYS_SHOWN = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Name)  # a call may well return None, which shows nothing


def shown_results(source: str) -> tuple[int, int]:
    """Return the least and the most results that a cell of the master shows when it runs to its end.

    IPython shows the last line; where a learner has set it so, every expression.
    """
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return 0, ANY_NUMBER
    loops = [node for node in ast.walk(ast.Module(statements, [])) if isinstance(node, ast.For | ast.While)]
    if any(isinstance(node, ast.Expr) for loop in loops for node in ast.walk(loop)):
        most = ANY_NUMBER
    else:
        most = sum(isinstance(node, ast.Expr) for node in ast.walk(ast.Module(statements, [])))
    last = statements[-1] if statements else None
    is_shown = isinstance(last, ast.Expr) and isinstance(last.value, ALWAYS_SHOWN) and not source.rstrip().endswith(";")
    return int(is_shown), most
