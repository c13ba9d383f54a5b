# %% answer="by_what_changes"
# Source: each default computed: the factor on the rate, the factor on the gradient, the rows
# A default breaks equality where its factor is not 1.
def breaking_defaults(updates, largest_gradient_norm):
    last_rate = 1 - (updates - 1) / updates
    gradient_factor = min(1.0, 1.0 / largest_gradient_norm)
    return {"schedule": last_rate != 1, "clipping": gradient_factor != 1, "sampling": not updates == 1}


# %% answer="early_return"
# Source: two cases and an early return
# A run with one update is answered first.
def breaking_defaults(updates, largest_gradient_norm):
    answer = {"sampling": False, "clipping": largest_gradient_norm > 1, "schedule": False}
    if updates == 1:
        return answer
    answer["sampling"] = True
    answer["schedule"] = True
    return answer


# %% answer="helper_for_order"
# Source: a helper function for what depends on the number of updates
# Ordered keys through dict().
def has_a_second_update(updates):
    return updates >= 2


def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    depends_on_updates = has_a_second_update(updates)
    is_clipped = not largest_gradient_norm <= 1.0
    return dict(sampling=depends_on_updates, clipping=is_clipped, schedule=depends_on_updates)


# %% answer="with_numpy"
# Source: NumPy comparisons
# The truth values are those of NumPy.
import numpy


def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    quantities = numpy.array([updates, largest_gradient_norm, updates])
    names = ("sampling", "clipping", "schedule")
    return dict(zip(names, quantities > 1, strict=True))
