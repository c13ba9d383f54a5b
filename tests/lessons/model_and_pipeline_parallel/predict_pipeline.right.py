# Right answers to predict_pipeline.

# %% answer="by_simulation"
# Runs every stage's order as early as its inputs allow.
def predict_pipeline(schedule, stages, micro_batches, forward, backward, head, stage):
    ahead = {
        "one by one": lambda s: 0,
        "gpipe": lambda s: micro_batches,
        "1f1b": lambda s: min(stages - 1 - s, micro_batches),
    }
    orders = []
    for s in range(stages):
        lead, order = ahead[schedule](s), []
        for step in range(micro_batches + lead):
            order += [("F", step)] * (step < micro_batches) + [("B", step - lead)] * (step >= lead)
        orders.append(order)
    ends, clock = {}, [0.0] * stages
    while any(orders):
        for s, order in enumerate(orders):
            while order:
                kind, number = order[0]
                needed = ("F", number, s - 1) if kind == "F" else ("B", number, s + 1)
                if kind == "F" and s == 0:
                    needed = ("B", number - 1, 0) if schedule == "one by one" and number else None
                if kind == "B" and s == stages - 1:
                    needed = None
                if needed and needed not in ends:
                    break
                seconds = forward if kind == "F" else backward + head * (s == stages - 1)
                clock[s] = max(clock[s], ends.get(needed, 0.0)) + seconds
                ends[kind, number, s] = clock[s]
                order.pop(0)
    busy = micro_batches * (forward + backward + head * (stage == stages - 1))
    held = {"one by one": 1, "gpipe": micro_batches, "1f1b": min(stages - stage, micro_batches)}
    return 1 - busy / max(clock), held[schedule]


# %% answer="idle_summed_up"
# Adds up what a stage waits for.
def predict_pipeline(schedule, stages, micro_batches, forward, backward, head, stage):
    own = forward + backward
    of_stage = own + head if stage == stages - 1 else own
    if schedule == "one by one":
        return 1 - of_stage / (stages * own + head), 1
    total = stages * own + head + (micro_batches - 1) * (own + head)
    idle = total - micro_batches * of_stage
    return idle / total, micro_batches if schedule == "gpipe" else min(micro_batches, stages - stage)


# %% answer="as_tensors"
# Numbers of PyTorch, and a list.
def predict_pipeline(schedule, stages, micro_batches, forward, backward, head, stage):
    own = torch.full((stages,), forward + backward, dtype=torch.float64)
    own[-1] += head
    step = micro_batches * own.sum() if schedule == "one by one" else own.sum() + (micro_batches - 1) * own.max()
    held = torch.tensor([1, micro_batches, stages - stage]).clamp(max=micro_batches)
    return [1 - micro_batches * own[stage] / step, held[["one by one", "gpipe", "1f1b"].index(schedule)]]
