# Source: Python takes numbers for truth values
# The number of updates in excess stands for True.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": updates - 1, "clipping": largest_gradient_norm > 1.0, "schedule": updates - 1}
