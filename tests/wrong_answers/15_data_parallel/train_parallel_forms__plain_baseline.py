# Source: the raw loop of one process
# Every rank runs the raw loop on the whole batch.
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    train_raw(accelerate_model, dataset, batch, learning_rate)
    train_raw(trainer_model, dataset, batch, learning_rate)
