# Source: the method of the class that is to be written
# The step of AdamW is called on this optimizer.
def adamw_step(optimizer) -> None:
    for group in optimizer.param_groups:
        group |= {"amsgrad": False, "maximize": False, "foreach": False, "capturable": False, "differentiable": False}
    torch.optim.AdamW.step(optimizer)
