# %% answer="one_expression"
def predict_sharding(parameters: int, ranks: int, stage: int, state_bytes: int, k: int) -> tuple[float, float]:
    whole, cut = {0: (4 + state_bytes, 0), 1: (4, state_bytes), 2: (2, 2 + state_bytes), 3: (0, 4 + state_bytes)}[stage]
    share = 2 * parameters / ranks
    return parameters * (whole + cut / ranks), {0: 2, 1: 2, 2: k + 1, 3: 3 * k}[stage] * (ranks - 1) * share


# %% answer="by_events"
def predict_sharding(parameters: int, ranks: int, stage: int, state_bytes: int, k: int) -> tuple[float, float]:
    bytes_of = {1: state_bytes, 2: 2, 3: 2}
    held = sum(size * parameters / (ranks if stage >= level else 1) for level, size in bytes_of.items())
    reduced = k if stage >= 2 else 1
    gathered = 2 * k if stage == 3 else 1
    return held, (reduced + gathered) * 2 * (parameters - parameters / ranks)


# %% answer="counted_in_a_loop"
def predict_sharding(parameters: int, ranks: int, stage: int, state_bytes: int, k: int) -> list[float]:
    sent, one_pass = 0.0 if stage == 3 else 1.0, 2 * parameters * (1 - 1 / ranks)
    for micro_batch in range(k):
        sent += 3 if stage == 3 else 1 if stage == 2 or micro_batch == 0 else 0
    held = sum(size / ranks if stage >= first else size for first, size in ((1, state_bytes), (2, 2), (3, 2)))
    return [held * parameters, sent * one_pass]
