# Source: counting updates from 1: the schedule begins after the second
# The second update has i = 1 already.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": updates > 1, "clipping": largest_gradient_norm > 1.0, "schedule": updates > 2}
