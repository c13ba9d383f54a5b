# Source: the belief that gradients of a well-behaved run are never clipped
# A norm of 53 is ordinary for a new model.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    more_than_one = updates > 1
    return {"sampling": more_than_one, "clipping": False, "schedule": more_than_one}
