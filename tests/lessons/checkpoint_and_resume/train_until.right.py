# Right answers to train_until.

# %% answer="order_itself"
def train_until(model, optimizer, scheduler, generator, dataset, rows, k, updates, state=None):
    done, left = 0, torch.zeros(0, dtype=torch.long)
    if state is not None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        generator.set_state(state["generator"])
        torch.set_rng_state(state["rng"])
        done, left = state["done"], state["left"]
    for _ in range(done, updates):
        if not len(left):
            left = torch.randperm(len(dataset), generator=generator)
        run_group(model, optimizer, scheduler, dataset, left[: k * rows].split(rows))
        left = left[k * rows :]
    return {
        "done": updates,
        "left": left.clone(),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
        "model": {name: tensor.clone() for name, tensor in model.state_dict().items()},
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "scheduler": scheduler.state_dict(),
    }


# %% answer="two_loops"
def train_until(model, optimizer, scheduler, generator, dataset, rows, k, updates, state=None):
    state = {"done": 0, "skip": 0, "order": generator.get_state()} if state is None else state
    if "rng" in state:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["rng"])
    generator.set_state(state["order"])
    done, skip = state["done"], state["skip"]
    order, passed = state["order"], skip
    while done < updates:
        order = generator.get_state()
        batches = torch.randperm(len(dataset), generator=generator).split(rows)
        passed = skip
        for start in range(skip * k, len(batches), k):
            if done < updates:
                run_group(model, optimizer, scheduler, dataset, batches[start : start + k])
                done, passed = done + 1, passed + 1
        skip = 0
    parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    return copy.deepcopy({**parts, "done": done, "skip": passed, "order": order, "rng": torch.get_rng_state()})


# %% answer="through_a_file"
def train_until(model, optimizer, scheduler, generator, dataset, rows, k, updates, state=None):
    def groups(order, place):
        while True:
            generator.set_state(order)
            batches = torch.randperm(len(dataset), generator=generator).split(rows)
            for first in range(place, len(batches), k):
                yield order, first, batches[first : first + k]
            order, place = generator.get_state(), 0

    first_update = 0
    if state is not None:
        first_update = state["updates"]
        for part, saved in zip((model, optimizer, scheduler), state["parts"], strict=True):
            part.load_state_dict(saved)
        torch.random.set_rng_state(state["dropout"])
    source = groups(state["order"], state["place"]) if state else groups(generator.get_state(), 0)
    for _ in range(first_update, updates):
        run_group(model, optimizer, scheduler, dataset, next(source)[2])
    order, place, _ = next(source)
    file = io.BytesIO()
    parts = [part.state_dict() for part in (model, optimizer, scheduler)]
    counts = {"order": order, "place": place, "updates": updates, "dropout": torch.random.get_rng_state()}
    torch.save({"parts": parts, **counts}, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=True)
