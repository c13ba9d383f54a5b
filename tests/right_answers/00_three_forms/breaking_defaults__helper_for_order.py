# Source: a helper function for what depends on the number of updates
# Ordered keys through dict().
def has_a_second_update(updates):
    return updates >= 2


def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    depends_on_updates = has_a_second_update(updates)
    is_clipped = not largest_gradient_norm <= 1.0
    return dict(sampling=depends_on_updates, clipping=is_clipped, schedule=depends_on_updates)
