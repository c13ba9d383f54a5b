# %% answer="product_of_scale_and_norm"
# Source: an overflow has to be possible at the scale at which it is seen
import math


def diagnose_run(log: list) -> str:
    last = 1.0
    for update in log:
        if update.bad_pass == "forward":
            return "bug"
        if math.isfinite(update.norm):
            last = update.norm
        elif update.scale * last < 1000:
            return "bug"
    return "collapse" if last > 1e5 else "overflow"


# %% answer="growth_of_the_norm"
# Source: the growth of the norms
def diagnose_run(log: list) -> str:
    norms = [update.norm for update in log if abs(update.norm) < float("inf")]
    if [update for update in log if update.bad_pass == "forward"]:
        return "bug"
    if max(norms) > 1000 * norms[0]:
        return "collapse"
    return "bug" if log[-1].scale < 1 else "overflow"


# %% answer="by_tensors"
# Source: the log as tensors
def diagnose_run(log: list) -> str:
    scales = torch.tensor([update.scale for update in log])
    norms = torch.tensor([update.norm for update in log])
    if "forward" in {update.bad_pass for update in log}:
        return "bug"
    if bool((scales < 1).any()):
        return "collapse" if norms[norms.isfinite()].max() > 2**16 else "bug"
    return "overflow"
