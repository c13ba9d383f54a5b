"""Real processes that talk to each other: run a function in each of them, and count what they send."""
