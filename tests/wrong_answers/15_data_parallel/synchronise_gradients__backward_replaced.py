# Source: a patch of the library
# torch.Tensor.backward is replaced for all models.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
    backward = torch.Tensor.backward

    def backward_and_average(loss, *arguments, **options):
        backward(loss, *arguments, **options)
        for parameter in model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= world_size

    torch.Tensor.backward = backward_and_average
