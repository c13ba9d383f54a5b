"""The number that an instructor's own cell ends in."""

from __future__ import annotations

import math
import re

NUMBER = r"[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|inf|nan)"
SCALAR = re.compile(rf"^(?:[\w.]+\()?\s*({NUMBER}|True|False)\s*(?:,[^()]*)?\)?$", re.IGNORECASE)


def partial_points(text: str, most: float) -> float | None:
    """Read the points that a cell ends in, as Python, NumPy or PyTorch print them.

    Args:
        text: For example "1.5", "np.float64(1.5)" or "tensor(1.5000)".
        most: The check's points.

    Returns:
        Points between 0 and `most`, 0 for NaN; None if the text is no number.
    """
    found = SCALAR.match(text.strip()) if len(text) < 200 else None
    if found is None:
        return None
    word = found.group(1).lower()
    if word in ("true", "false"):
        return most if word == "true" else 0.0
    value = float(word)
    return 0.0 if math.isnan(value) else min(max(value, 0.0), most)
