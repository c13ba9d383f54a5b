# Source: the belief that an epoch reads every row once anyway, so the order is the same
# The rows of each update are other ones.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": False, "clipping": largest_gradient_norm > 1, "schedule": updates > 1}
