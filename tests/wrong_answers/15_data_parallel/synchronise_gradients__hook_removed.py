# Source: a hook that cleans up after itself
# Only the first backward is averaged.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    handles, left, calls = [], [], []
    trained = sum(parameter.requires_grad for parameter in model.parameters())

    def average(parameter):
        dist.all_reduce(parameter.grad.div_(world_size))
        while len(handles) == trained:
            trained_handles = [handles.pop() for _ in range(trained)]
            left.append(trained_handles)
        calls.append(1)
        if len(calls) == trained:
            for handle in left[0]:
                handle.remove()

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            handles.append(parameter.register_post_accumulate_grad_hook(average))
