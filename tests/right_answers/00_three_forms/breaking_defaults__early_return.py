# Source: two cases and an early return
# A run with one update is answered first.
def breaking_defaults(updates, largest_gradient_norm):
    answer = {"sampling": False, "clipping": largest_gradient_norm > 1, "schedule": False}
    if updates == 1:
        return answer
    answer["sampling"] = True
    answer["schedule"] = True
    return answer
