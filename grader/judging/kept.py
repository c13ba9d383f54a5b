"""How many references a judge keeps."""

from __future__ import annotations

from functools import lru_cache

KEPT_CASES = 32  # of each kind: the 16 seeds of a lesson in a class, and two cases of some

keep_cases = lru_cache(maxsize=KEPT_CASES)
