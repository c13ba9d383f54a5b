# %% answer="digests"
def what_is_averaged(train, model, optimizer) -> str:
    import hashlib

    digest, steps = hashlib.sha256(), []
    hook = optimizer.register_step_pre_hook(
        lambda *_: steps.append([digest.update(p.grad.numpy().tobytes()) for p in model.parameters()])
    )
    train(model, optimizer)
    hook.remove()
    weights = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
    own = torch.tensor([min(len(steps), 1), *digest.digest(), *weights.digest()])
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    if smallest[0] == 0:
        return "driver"
    if torch.equal(smallest[1:33], largest[1:33]):
        return "gradients"
    return "parameters" if torch.equal(smallest[33:], largest[33:]) else "nothing"


# %% answer="spread_at_each_step"
def what_is_averaged(train, model, optimizer) -> str:
    kept = []
    step = optimizer.step

    def stepped(*arguments, **keywords):
        kept.append(torch.nn.utils.parameters_to_vector([p.grad for p in model.parameters()]))
        return step(*arguments, **keywords)

    optimizer.step = stepped
    train(model, optimizer)
    del optimizer.step

    def agree(tensor):
        others = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
        dist.all_gather(others, tensor)
        return all(torch.equal(other, tensor) for other in others) if True else False

    counts = torch.tensor([len(kept)])
    dist.all_reduce(counts, op=dist.ReduceOp.MIN)
    if counts.item() == 0:
        return "driver"
    same = torch.tensor(
        [int(agree(torch.stack(kept))), int(agree(torch.nn.utils.parameters_to_vector(model.parameters()).detach()))]
    )
    dist.all_reduce(same, op=dist.ReduceOp.MIN)
    return "gradients" if same[0] else "parameters" if same[1] else "nothing"


# %% answer="steps_counted"
def what_is_averaged(train, model, optimizer) -> str:
    gradients, step = [], optimizer.step

    def counted(*arguments, **keywords):
        gradients.append([parameter.grad.tolist() for parameter in model.parameters()])
        return step(*arguments, **keywords)

    optimizer.step = counted
    train(model, optimizer)
    optimizer.step = step
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, [parameter.tolist() for parameter in model.parameters()]))
    if len({len(steps) for steps, _ in everywhere}) > 1:
        return "driver"
    first, end = everywhere[0]
    if all(steps == first for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(one == end for _, one in everywhere) else "nothing"


# %% answer="decided_by_rank_zero"
def what_is_averaged(train, model, optimizer) -> str:
    seen = []
    handle = optimizer.register_step_post_hook(lambda *_: seen.append([p.grad.clone() for p in model.parameters()]))
    train(model, optimizer)
    handle.remove()
    gathered = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    flat = [[g.tolist() for g in one] for one in seen], [p.tolist() for p in model.parameters()]
    dist.gather_object(flat, gathered, dst=0)
    said = [None]
    if dist.get_rank() == 0:
        steps, ends = zip(*gathered)
        said = ["nothing"]
        if ends.count(ends[0]) == len(ends):
            said = ["parameters"]
        if steps.count(steps[0]) == len(steps):
            said = ["gradients"]
        if [] in steps:
            said = ["driver"]
    dist.broadcast_object_list(said, src=0)
    return said[0]
