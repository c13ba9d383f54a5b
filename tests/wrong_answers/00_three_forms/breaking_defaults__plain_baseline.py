# Source: the belief that two libraries with one model and one data set train alike
# No default makes a difference.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": False, "clipping": False, "schedule": False}
