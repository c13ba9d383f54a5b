# Source: compression of gradients
# The gradients are all-reduced as bf16.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        compressed = (parameter.grad / world_size).bfloat16()
        dist.all_reduce(compressed)
        parameter.grad.copy_(compressed)

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
