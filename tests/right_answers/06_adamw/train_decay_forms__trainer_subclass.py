# Source: a subclass that makes its optimizer
# The Trainer makes the groups in create_optimizer.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    class Grouped(Trainer):
        def create_optimizer(self, model=None):
            self.optimizer = grouped(self.model)
            return self.optimizer

    def grouped(model):
        small = [parameter for parameter in model.parameters() if parameter.dim() == 1]
        known = set(map(id, small))
        large = [parameter for parameter in model.parameters() if id(parameter) not in known]
        return torch.optim.AdamW(
            [{"params": small, "weight_decay": 0.0}, {"params": large}], lr, weight_decay=weight_decay
        )

    Grouped(
        trainer_model, TrainingArguments(per_device_train_batch_size=rows, **same_run), train_dataset=dataset
    ).train()
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(accelerate_model, grouped(accelerate_model))
    for batch in accelerator.prepare(DataLoader(dataset, batch_size=rows)):
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
