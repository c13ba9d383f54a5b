# Source: bitsandbytes' own optimizer
# The library takes the step.
def eight_bit_step(optimizer) -> None:
    groups = [{**group, "betas": tuple(group["betas"])} for group in optimizer.param_groups]
    bitsandbytes.optim.AdamW8bit(groups).step()
