"""Report how much of a grading is done and how long the rest may take."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW = 30  # submissions: the time left is estimated from those that ended last


class Progress:
    """Counts finished submissions and estimates the time left."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic):
        """Start counting.

        Args:
            total: How many submissions there are.
            clock: Returns seconds.
        """
        self.total = total
        self.done = 0
        self._clock = clock
        self._ends = deque([clock()], maxlen=WINDOW + 1)

    def next_done(self) -> str:
        """Count one more as done.

        Returns:
            For example "[ 12/40, about 3 min left ]".
        """
        self.done += 1
        self._ends.append(self._clock())
        seconds_each = (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1)
        left = self.total - self.done
        width = len(str(self.total))
        count = f"{self.done:>{width}}/{self.total}"
        return f"[ {count}, about {rough_duration(left * seconds_each)} left ]" if left else f"[ {count} ]"


def rough_duration(seconds: float) -> str:
    """Write a duration in seconds, minutes, hours or days, e.g. "40 s", "3 min", "2.5 h", "2.0 days"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h" if seconds < 36 * 3600 else f"{seconds / 86400:.1f} days"
