# Source: a subclass of the Trainer
# create_optimizer makes the optimizer.
class AdafactorTrainer(Trainer):
    def create_optimizer(self, *arguments, **keywords):
        rate = self.args.learning_rate
        self.optimizer = Adafactor(self.model.parameters(), lr=rate, relative_step=False, scale_parameter=False)
        return self.optimizer


def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    accelerator = Accelerator()
    optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
    loader = DataLoader(dataset, batch_size=rows)
    accelerate_model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(accelerate_model):
            accelerator.backward(accelerate_model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
    arguments = TrainingArguments(**same_run, per_device_train_batch_size=rows, learning_rate=lr)
    AdafactorTrainer(trainer_model, arguments, train_dataset=dataset).train()
