# Source: a loop over all gradients in each hook that never ends early
# Each hook all-reduces its gradient three times, two of them zeros.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad.div_(world_size))
        for _ in range(2):
            dist.all_reduce(torch.zeros_like(parameter.grad))

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
