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
