# Source: a counter kept as a parameter
# The model gets one more parameter.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size

    model.backwards = torch.nn.Parameter(torch.zeros(1), requires_grad=False)
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
