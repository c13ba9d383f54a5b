# Source: all_gather and a mean
# Every gradient is gathered from all ranks instead of all-reduced.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        parts = [torch.empty_like(parameter.grad) for _ in range(world_size)]
        dist.all_gather(parts, parameter.grad)
        parameter.grad.copy_(torch.stack(parts).mean(dim=0))

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
