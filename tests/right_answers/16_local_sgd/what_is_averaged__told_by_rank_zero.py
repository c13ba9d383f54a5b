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
