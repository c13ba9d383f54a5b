# Source: train_as_in_the_guides of the lesson, called
# No accumulation, and the Trainer's gradient too large.
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    train_as_in_the_guides(accelerate_model, trainer_model, dataset, batch, k, learning_rate)
