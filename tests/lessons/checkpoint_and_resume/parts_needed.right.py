# Right answers to parts_needed.

# %% answer="branches"
def parts_needed(run):
    parts = set()
    if run["optimizer"] in {"adamw", "momentum"}:
        parts.add("optimizer")
    if run["schedule"] != "constant" and not (run["schedule"] == "warm_up" and not run["warm_up"]):
        parts.add("scheduler")
    if run["precision"] == "fp16":
        parts.add("scaler")
    if run["dropout"]:
        parts.add("rng")
    if run["rows"] != "in order":
        parts.add("order")
    if run["micro_batch"] != run["micro_batches"]:
        parts.add("position")
        if run["micro_batch"] % run["k"]:
            parts.add("gradients")
    return parts


# %% answer="a_list"
def parts_needed(run):
    left = run["micro_batches"] - run["micro_batch"]
    questions = [
        ("optimizer", run["optimizer"] != "sgd"),
        ("scheduler", (run["schedule"] == "cosine") + (run["schedule"] == "warm_up") * run["warm_up"]),
        ("scaler", run["precision"] == "fp16"),
        ("rng", run["dropout"]),
        ("order", run["rows"] == "shuffled"),
        ("position", left),
        ("gradients", left * (run["micro_batch"] % run["k"])),
    ]
    return [name for name, answer in questions if answer]


# %% answer="all_but"
def parts_needed(run):
    parts = {"optimizer", "scheduler", "scaler", "rng", "order", "position", "gradients"}
    if run["optimizer"] == "sgd":
        parts -= {"optimizer"}
    if run["schedule"] == "constant" or (run["schedule"] == "warm_up" and run["warm_up"] == 0):
        parts -= {"scheduler"}
    if run["precision"] in ("float32", "bf16"):
        parts -= {"scaler"}
    if run["dropout"] == 0:
        parts -= {"rng"}
    if run["rows"] == "in order":
        parts -= {"order"}
    if run["micro_batch"] == run["micro_batches"]:
        parts -= {"position", "gradients"}
    if run["micro_batch"] % run["k"] == 0:
        parts -= {"gradients"}
    return parts
