# Source: the raw loop of the lesson, twice
# Neither form is used.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    for model in (accelerate_model, trainer_model):
        matrices = [p for p in model.parameters() if p.dim() > 1]
        others = [p for p in model.parameters() if p.dim() < 2]
        groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
        train_raw(model, torch.optim.AdamW(groups, lr=lr), dataset, rows)
