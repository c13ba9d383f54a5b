# Source: the Trainer's own number of epochs
# The Trainer runs three epochs.
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    rows = batch // (accelerator.num_processes * k)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for micro_batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**micro_batch).loss)
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(
        trainer_model, TrainingArguments(**(same_run | arguments | {"num_train_epochs": 3})), train_dataset=dataset
    ).train()
