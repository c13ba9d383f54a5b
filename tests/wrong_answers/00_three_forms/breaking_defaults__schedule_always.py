# Source: lr_scheduler_type="linear" read as a lower learning rate from the first update on
# Update 0 uses the whole learning rate.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": updates != 1, "clipping": largest_gradient_norm > 1.0, "schedule": True}
