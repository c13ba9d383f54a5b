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
