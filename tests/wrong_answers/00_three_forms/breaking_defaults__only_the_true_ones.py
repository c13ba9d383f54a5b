# Source: the habit of leaving out what is False
# Keys are missing where the answer is False.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    answer = {}
    if updates > 1:
        answer["sampling"] = answer["schedule"] = True
    if largest_gradient_norm > 1:
        answer["clipping"] = True
    return answer
