# Right answers to train_together.

# %% answer="small_micro_batches"
def train_together(model, batches, budget_bytes):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    shares = [list(block.parameters()) for block in model]
    optimizer = torch.optim.AdamW(sum(shares[rank::world_size], []), lr=0.05, eps=0.1)
    for inputs, targets in batches:
        optimizer.zero_grad()
        for rows, wanted in zip(inputs.split(16), targets.split(16)):
            loss = F.mse_loss(model(rows), wanted, reduction="sum")
            (loss / (targets.numel() * world_size)).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        for index, share in enumerate(shares):
            for parameter in share:
                dist.broadcast(parameter.detach(), index % world_size)
        model.zero_grad()


# %% answer="library_optimizer"
def train_together(model, batches, budget_bytes):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.utils.checkpoint import checkpoint_sequential

    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.05, eps=0.1)
    for inputs, targets in batches:
        optimizer.zero_grad()
        outputs = checkpoint_sequential(model, len(model), inputs, use_reentrant=False)
        F.mse_loss(outputs, targets).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.SUM)
            parameter.grad.div_(dist.get_world_size())
        optimizer.step()


# %% answer="all_in_far_memory"
def train_together(model, batches, budget_bytes):
    far, kept, count = FarMemory(), {}, 0
    world_size = dist.get_world_size()
    hooks = torch.autograd.graph.saved_tensors_hooks
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def pack(tensor):
        return tensor if tensor.untyped_storage().data_ptr() in own else far.put(tensor)

    def unpack(packed):
        return packed if isinstance(packed, torch.Tensor) else far.get(packed)

    for inputs, targets in batches:
        count += 1
        with hooks(pack, unpack):
            loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        del loss
        with torch.no_grad():
            for parameter in model.parameters():
                gradient = parameter.grad
                dist.all_reduce(gradient)
                gradient /= world_size
                old = kept.get(parameter)
                first, second = [far.get(one) for one in old] if old else [torch.zeros_like(parameter) for _ in "ab"]
                parameter.mul_(1 - 0.05 * 0.01)
                first.lerp_(gradient, 0.1)
                second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
                denominator = (second / (1 - 0.999**count)).sqrt_().add_(0.1)
                parameter.addcdiv_(first, denominator, value=-0.05 / (1 - 0.9**count))
                kept[parameter] = (far.put(first), far.put(second))
                parameter.grad = gradient = None


# %% answer="step_in_backward"
def train_together(model, batches, budget_bytes):
    from torch.utils.checkpoint import checkpoint

    rank, world_size, handles = dist.get_rank(), dist.get_world_size(), []
    owners = {p: index % world_size for index, block in enumerate(model) for p in block.parameters()}
    optimizers = {p: torch.optim.AdamW([p], lr=0.05, eps=0.1) for p, owner in owners.items() if owner == rank}

    def update(parameter):
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size
        if parameter in optimizers:
            optimizers[parameter].step()
        parameter.grad = None

    for parameter in owners:
        handles.append(parameter.register_post_accumulate_grad_hook(update))
    for inputs, targets in batches:
        hidden = inputs
        for block in model:
            hidden = checkpoint(block, hidden, use_reentrant=False)
        F.mse_loss(hidden, targets).backward()
        for parameter, owner in owners.items():
            dist.broadcast(parameter.data, owner)
    for handle in handles:
        handle.remove()
