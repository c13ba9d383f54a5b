def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, src=0)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    ready = []

    def collect(parameter):
        ready.append(parameter)
        if len(ready) == len(trained):
            bucket = torch.cat([one.grad.flatten() for one in trained])
            dist.all_reduce(bucket)
            bucket /= world_size
            for one, part in zip(trained, bucket.split([one.numel() for one in trained])):
                one.grad = part.view_as(one)
            ready.clear()

    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(collect)
