"""Compare answers regardless of comments, docstrings, annotations and local names."""

from __future__ import annotations

import ast


def normalised(source: str) -> str:
    """Return a text that is equal for two answers that differ only in wording.

    Names that the answer binds (functions, arguments, variables, imports) are numbered by first appearance.
    """
    module = ast.parse(source)
    names: dict[str, str] = {}
    for node in ast.walk(module):
        for name in _bound_names(node):
            names.setdefault(name, f"name_{len(names)}")
    return ast.dump(_Normaliser(names).visit(module))


def _bound_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    return []


class _Normaliser(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit(self, node: ast.AST) -> ast.AST:
        """Drop what is wording only, rename what the answer binds."""
        for field in ("name", "arg", "id"):
            if isinstance(getattr(node, field, None), str) and not isinstance(node, ast.keyword | ast.alias):
                setattr(node, field, self.names.get(getattr(node, field), getattr(node, field)))
        for field in ("annotation", "returns"):
            if hasattr(node, field) and not isinstance(node, ast.AnnAssign):
                setattr(node, field, None)
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)
