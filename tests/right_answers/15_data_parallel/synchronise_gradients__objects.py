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
