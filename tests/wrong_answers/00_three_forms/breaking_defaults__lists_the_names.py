# Source: the task read as: name the defaults that break equality
# A list of names where a dict is asked for.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    broken = []
    if updates > 1:
        broken += ["sampling", "schedule"]
    if largest_gradient_norm > 1:
        broken.append("clipping")
    return broken
