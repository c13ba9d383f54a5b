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


# %% answer="gathered_bits"
def what_is_averaged(train, model, optimizer) -> str:
    kept, step = [], optimizer.step

    def stepped(*arguments, **keywords):
        kept.append(torch.nn.utils.parameters_to_vector([p.grad for p in model.parameters()]).view(torch.int32))
        return step(*arguments, **keywords)

    optimizer.step = stepped
    train(model, optimizer)
    del optimizer.step

    def agree(tensor):
        others = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
        dist.all_gather(others, tensor)
        return all(torch.equal(other, others[0]) for other in others)

    counts = torch.tensor([len(kept)])
    dist.all_reduce(counts, op=dist.ReduceOp.MIN)
    if counts.item() == 0:
        return "driver"
    weights = torch.nn.utils.parameters_to_vector(model.parameters()).detach().view(torch.int32)
    is_same, are_weights_same = agree(torch.stack(kept)), agree(weights)
    return "gradients" if is_same else "parameters" if are_weights_same else "nothing"


# %% answer="decided_by_rank_zero"
def what_is_averaged(train, model, optimizer) -> str:
    seen = []
    handle = optimizer.register_step_post_hook(
        lambda *_: seen.append([p.grad.numpy().tobytes() for p in model.parameters()])
    )
    train(model, optimizer)
    handle.remove()
    gathered = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    dist.gather_object((seen, [p.detach().numpy().tobytes() for p in model.parameters()]), gathered, dst=0)
    said = [None]
    if dist.get_rank() == 0:
        steps, ends = zip(*gathered)
        said = ["parameters" if ends.count(ends[0]) == len(ends) else "nothing"]
        said = ["gradients"] if steps.count(steps[0]) == len(steps) else said
        said = ["driver"] if [] in steps else said
    dist.broadcast_object_list(said, src=0)
    return said[0]
