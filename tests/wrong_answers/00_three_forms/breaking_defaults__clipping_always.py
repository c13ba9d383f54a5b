# Source: the documentation of TrainingArguments: max_grad_norm=1.0 is on unless it is turned off
# What is on is taken for what acts.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    schedule = updates >= 2
    return dict(sampling=schedule, clipping=True, schedule=schedule)
