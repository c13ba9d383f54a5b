# Two helpers; the Trainer is handed SGD and a constant schedule.
def train_by_accelerate(model, dataset, rows, learning_rate, epochs):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    sgd = accelerator.prepare(torch.optim.SGD(model.parameters(), learning_rate))
    batches = accelerator.prepare(DataLoader(dataset, rows))
    model.train()
    for _ in range(epochs):
        for batch in batches:
            outputs = model(**batch)
            accelerator.backward(outputs.loss)
            sgd.step()
            sgd.zero_grad()


def train_by_trainer(model, dataset, rows, learning_rate, epochs):
    arguments = TrainingArguments(
        per_device_train_batch_size=rows,
        num_train_epochs=epochs,
        lr_scheduler_type="constant",
        max_grad_norm=0,
        train_sampling_strategy="sequential",
        **quiet,
    )
    sgd = torch.optim.SGD(model.parameters(), learning_rate)
    trainer = Trainer(model, arguments, train_dataset=dataset, optimizers=(sgd, None))
    trainer.train()


def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    train_by_accelerate(accelerate_model, dataset, rows, learning_rate, epochs)
    train_by_trainer(trainer_model, dataset, rows, learning_rate, epochs)
