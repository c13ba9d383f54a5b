"""Settings of every test, and the slow tests of one kind that take turns from day to day."""

from __future__ import annotations

import os
from collections import Counter
from datetime import date

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests marked `turns(days)` whose turn it is: one of `days`; all of them with ALL=1 or named by `::`."""
    if os.environ.get("ALL") or any("::" in argument for argument in config.args):
        return
    today = date.today().toordinal()
    seen: Counter[tuple[str, str]] = Counter()
    kept, waiting = [], []
    for item in items:
        turns = item.get_closest_marker("turns")
        kind = (str(item.path), getattr(item, "originalname", item.name))
        has_turn = turns is None or (seen[kind] + today) % turns.args[0] == 0
        (kept if has_turn else waiting).append(item)
        seen[kind] += 1
    config.hook.pytest_deselected(items=waiting)
    items[:] = kept
