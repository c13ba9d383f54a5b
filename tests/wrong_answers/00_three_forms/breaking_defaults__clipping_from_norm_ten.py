# Source: the word exploding gradients: only a very large norm is clipped
# The threshold lies far above 1.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    is_exploding = largest_gradient_norm > 10
    return {"sampling": updates > 1, "clipping": is_exploding, "schedule": updates > 1}
