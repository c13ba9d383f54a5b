# Source: two helper functions; the Trainer is given its optimizer
# Each form is a function of its own, and the Trainer gets optimizer and schedule.
def train_with_accelerate(model, loader, k, learning_rate):
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    remaining = len(loader)
    group_size = in_group = 0
    for batch in loader:
        if in_group == 0:
            group_size = min(k, remaining)
        with accelerator.accumulate(model):
            outputs = model(**batch)
            accelerator.backward(outputs.loss * (k / group_size))
            optimizer.step()
            optimizer.zero_grad()
        in_group = (in_group + 1) % k
        remaining -= 1


def train_with_trainer(model, dataset, rows, k, learning_rate):
    model.accepts_loss_kwargs = False
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    arguments = TrainingArguments(per_device_train_batch_size=rows, gradient_accumulation_steps=k, **same_run)
    trainer = Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, schedule))
    trainer.train()


def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    train_with_accelerate(accelerate_model, DataLoader(dataset, batch_size=rows), k, learning_rate)
    train_with_trainer(trainer_model, dataset, rows, k, learning_rate)
