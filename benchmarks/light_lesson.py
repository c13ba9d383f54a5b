"""A lesson whose cells cost under a second, though it imports the course's libraries; solved, it hands in a class."""

from __future__ import annotations

import copy
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode

from grader.classroom.commands.folder import make_classroom

LESSON = "90_light"
GIVEN = """\
import torch
from accelerate import Accelerator
from transformers import DistilBertConfig, DistilBertForSequenceClassification

config = DistilBertConfig(dim=32, n_layers=2, n_heads=2, hidden_dim=64, vocab_size=100)
model = DistilBertForSequenceClassification(config)
tokens = torch.arange(32).reshape(4, 8)
labels = torch.tensor([0, 1, 0, 1])"""
ANSWERS = {
    "count_parameters": '''\
def count_parameters(model):
    """Return how many numbers the model learns."""
    ### BEGIN SOLUTION
    return sum(parameter.numel() for parameter in model.parameters())
    ### END SOLUTION''',
    "accumulate": '''\
def accumulate(model, tokens, labels, parts):
    """Leave the gradient of the mean loss in the model, computed in equal parts."""
    ### BEGIN SOLUTION
    for part in range(parts):
        chunk = slice(part * len(tokens) // parts, (part + 1) * len(tokens) // parts)
        (model(input_ids=tokens[chunk], labels=labels[chunk]).loss / parts).backward()
    ### END SOLUTION''',
    "prepare": '''\
def prepare(model, optimizer):
    """Return both as Accelerate prepares them."""
    ### BEGIN SOLUTION
    return Accelerator(cpu=True).prepare(model, optimizer)
    ### END SOLUTION''',
}
CHECKS = {
    "count_parameters": "assert count_parameters(torch.nn.Linear(3, 4)) == 16\nassert count_parameters(model) > 1000",
    "accumulate": """\
model.eval()
model.zero_grad()
model(input_ids=tokens, labels=labels).loss.backward()
expected = model.classifier.weight.grad.clone()
model.zero_grad()
accumulate(model, tokens, labels, 2)
assert torch.allclose(model.classifier.weight.grad, expected, rtol=1e-4, atol=1e-7)""",
    "prepare": """\
prepared, optimizer = prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
assert type(optimizer).__name__ == "AcceleratedOptimizer" """,
}
POINTS = 2


def build_light_master(source: Path | None = None) -> NotebookNode:
    """Return the solved lesson, as a classroom keeps it."""
    cells = [nbformat.v4.new_markdown_cell("# Light"), _cell(GIVEN, "given_light", points=0, is_answer=False)]
    for exercise, answer in ANSWERS.items():
        cells.append(_cell(f"# exercise: {exercise}\n{answer}", exercise, points=0, is_answer=True))
        cells.append(_cell(CHECKS[exercise], f"check_{exercise}", points=POINTS, is_answer=False))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernelspec})


def _cell(source: str, grade_id: str, *, points: int, is_answer: bool) -> NotebookNode:
    metadata = {"schema_version": 3, "grade_id": grade_id, "grade": points > 0, "solution": is_answer, "task": False}
    metadata |= {"locked": not is_answer} | ({"points": points} if points else {})
    return nbformat.v4.new_code_cell(source, metadata={"nbgrader": metadata})


def make_light_classroom(folder: Path) -> None:
    """Make a classroom of the light lesson."""
    make_classroom(folder, [], {LESSON: Path("light.py")}, build_light_master)


def with_answers(release: NotebookNode, answers: dict[str, str], note: str = "") -> NotebookNode:
    """Return a release with these answers, by exercise, and a note in the first answer that makes it differ."""
    notebook = copy.deepcopy(release)
    for cell in notebook.cells:
        metadata = cell.metadata.get("nbgrader", {})
        if metadata.get("solution") and metadata["grade_id"] in answers:
            cell.source = f"# exercise: {metadata['grade_id']}\n{answers[metadata['grade_id']]}\n{note}".rstrip()
    return notebook
