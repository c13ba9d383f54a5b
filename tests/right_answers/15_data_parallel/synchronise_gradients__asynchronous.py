def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    works, trained = [], [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in model.parameters():
        parameter.data.mul_(float(dist.get_rank() == 0))
        dist.all_reduce(parameter.data)

    def start(parameter):
        works.append((parameter, dist.all_reduce(parameter.grad, async_op=True)))
        if len(works) == len(trained):
            for waiting, work in works:
                work.wait()
                waiting.grad.div_(world_size)
            works.clear()

    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(start)
