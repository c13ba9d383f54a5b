# Source: the thought that the first update is shared by both runs, whatever its gradient
# Clipping acts on the first update too.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    several = updates > 1
    return {"sampling": several, "clipping": several and largest_gradient_norm > 1.0, "schedule": several}
