# A Trainer that makes optimizer and schedule in methods of its own.
class PlainTrainer(Trainer):
    def create_optimizer(self, model=None):
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=self.args.learning_rate)
        return self.optimizer

    def create_scheduler(self, num_training_steps, optimizer=None):
        self.lr_scheduler = torch.optim.lr_scheduler.ConstantLR(self.optimizer, factor=1.0)
        return self.lr_scheduler


def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    sgd = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    accelerator = Accelerator(mixed_precision="no")
    model, sgd, loader = accelerator.prepare(accelerate_model, sgd, DataLoader(dataset, rows))
    for epoch in range(1, epochs + 1):
        for index, batch in enumerate(loader):
            sgd.zero_grad()
            with accelerator.autocast():
                loss = model(**batch).loss
            accelerator.backward(loss)
            sgd.step()

    plain = {"max_grad_norm": 0.0, "train_sampling_strategy": "sequential", "learning_rate": learning_rate}
    arguments = TrainingArguments(num_train_epochs=epochs, per_device_train_batch_size=rows, **plain, **quiet)
    PlainTrainer(trainer_model, arguments, train_dataset=dataset).train()
