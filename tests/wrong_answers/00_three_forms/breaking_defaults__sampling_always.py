# Source: the habit of saying that shuffling changes the run
# A single update has the same rows in every order.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": True, "clipping": largest_gradient_norm > 1, "schedule": updates > 1}
