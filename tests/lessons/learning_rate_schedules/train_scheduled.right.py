# Right answers to train_scheduled.

# %% answer="islice_and_closure"
def train_scheduled(model, loss_function, optimizer, scheduler, micro_batches, k, max_norm):
    import itertools

    norms, stream = [], iter(micro_batches)
    while group := list(itertools.islice(stream, k)):
        for inputs, targets in group:
            loss_function(model(inputs), targets).div(len(group)).backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)))
        optimizer.step()
        scheduler.step()
        model.zero_grad()
    return tuple(norms)


# %% answer="clipped_by_hand"
def train_scheduled(model, loss_function, optimizer, scheduler, micro_batches, k, max_norm):
    norms = []
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad(set_to_none=False)
        for inputs, targets in group:
            loss_function(model(inputs), targets).backward()
        gradients = [p.grad for p in model.parameters()]
        for gradient in gradients:
            gradient /= len(group)
        norm = torch.stack([g.norm() for g in gradients]).norm()
        for gradient in gradients:
            gradient *= min(1.0, max_norm / (norm + 1e-6))
        norms.append(norm)
        optimizer.step()
        scheduler.step()
    return norms


# %% answer="steps_by_index"
def train_scheduled(model, loss_function, optimizer, scheduler, micro_batches, k, max_norm):
    norms, last = [], len(micro_batches) - 1
    for index, (inputs, targets) in enumerate(micro_batches):
        size = min(k, len(micro_batches) - index // k * k)
        (loss_function(model(inputs), targets) / size).backward()
        if index % k == k - 1 or index == last:
            norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
            torch.nn.utils.clip_grads_with_norm_(model.parameters(), max_norm, norm)
            norms += [norm.item()]
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
    return norms
