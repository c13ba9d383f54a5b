# Source: the habit of printing a result
# Nothing is returned.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    print({"sampling": updates > 1, "clipping": largest_gradient_norm > 1.0, "schedule": updates > 1})
