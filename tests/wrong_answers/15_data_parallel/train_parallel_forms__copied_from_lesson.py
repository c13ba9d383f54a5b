# Source: train_as_in_the_guides of the lesson, called
# No accumulation, and the Trainer's gradient too large.
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=batch // accelerator.num_processes)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    for rows in loader:
        accelerator.backward(model(**rows).loss)
        optimizer.step()
        optimizer.zero_grad()
    arguments = {"per_device_train_batch_size": batch // accelerator.num_processes, "learning_rate": learning_rate}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
