# Source: the thought that a schedule counts epochs, so one epoch sees a constant rate
# The schedule steps at every update.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": updates > 1, "clipping": largest_gradient_norm > 1.0, "schedule": False}
