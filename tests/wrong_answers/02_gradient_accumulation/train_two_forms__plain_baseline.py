# Source: the raw loop of this lesson
# The loop that both forms are compared with trains both models.
def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    train_raw(accelerate_model, dataset, rows, k, learning_rate)
    train_raw(trainer_model, dataset, rows, k, learning_rate)
