# Source: the question turned round: which defaults keep the weights equal
# True stands for the same weights.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": updates == 1, "clipping": largest_gradient_norm < 1.0, "schedule": updates == 1}
