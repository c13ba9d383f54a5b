# Source: the raw loop in the place of both forms
# Both models are trained by the raw bf16 loop.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    train_raw(accelerate_model, dataset, rows, learning_rate, torch.bfloat16)
    train_raw(trainer_model, dataset, rows, learning_rate, torch.bfloat16)
