# Source: the same optimizer for both forms
# A function makes the groups; the Trainer gets its optimizer.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    def make_optimizer(model):
        groups = {True: [], False: []}
        for parameter in model.parameters():
            groups[parameter.dim() > 1].append(parameter)
        decays = {True: weight_decay, False: 0.0}
        return torch.optim.AdamW([{"params": groups[k], "weight_decay": decays[k]} for k in groups], lr=lr)

    accelerator = Accelerator()
    parts = accelerate_model, make_optimizer(accelerate_model), DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(*parts)
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    arguments = TrainingArguments(per_device_train_batch_size=rows, **same_run)
    optimizers = make_optimizer(trainer_model), None
    Trainer(trainer_model, arguments, train_dataset=dataset, optimizers=optimizers).train()
