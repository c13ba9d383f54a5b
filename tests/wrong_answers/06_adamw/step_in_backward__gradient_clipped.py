# Source: loops that clip, line by line
# Each gradient is clipped to norm 1 by itself.
def step_in_backward(model, make_optimizer) -> None:
    optimizers = {parameter: make_optimizer([parameter]) for parameter in model.parameters() if parameter.requires_grad}

    def update(parameter):
        torch.nn.utils.clip_grad_norm_([parameter], 1.0)
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)
