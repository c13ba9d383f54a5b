# Source: the thought that rows with small gradients can be exchanged
# Other rows have another gradient, of whatever size.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    is_large = largest_gradient_norm > 1.0
    return {"sampling": is_large, "clipping": is_large, "schedule": updates > 1}
