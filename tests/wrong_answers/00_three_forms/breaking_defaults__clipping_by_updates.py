# Source: one condition for all three defaults
# A run with one update is thought to be safe from everything.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    breaks = updates > 1
    return {name: breaks for name in ("sampling", "clipping", "schedule")}
