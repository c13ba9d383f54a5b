# %% answer="asynchronous"
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


# %% answer="gradient_hooks"
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def mean_of(gradient):
        total = gradient.clone()
        dist.all_reduce(total)
        return total / world_size

    with torch.no_grad():
        for parameter in model.parameters():
            dist.broadcast(parameter, 0)
    for parameter in filter(lambda parameter: parameter.requires_grad, model.parameters()):
        parameter.register_hook(mean_of)


# %% answer="objects"
class Averager:
    def __init__(self, ranks):
        self.ranks = ranks

    def __call__(self, parameter):
        gradient = parameter.grad
        gradient *= 1 / self.ranks
        dist.all_reduce(gradient, op=dist.ReduceOp.SUM)


def synchronise_gradients(model) -> None:
    averager = Averager(dist.get_world_size())
    weights = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    dist.broadcast(weights, src=0)
    torch.nn.utils.vector_to_parameters(weights, model.parameters())
    [p.register_post_accumulate_grad_hook(averager) for p in model.parameters() if p.requires_grad]


# %% answer="one_bucket"
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
