# Source: a likely slip: prepare is called as if it changed its arguments
# prepare changes the objects that it is given.
def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, loader = accelerate_model, DataLoader(dataset, batch_size=rows)
    accelerator.prepare(model, optimizer, loader)
    for _ in range(epochs):
        for batch in loader:
            batch = {name: values.to(accelerator.device) for name, values in batch.items()}
            optimizer.zero_grad()
            accelerator.backward(model(**batch).loss)
            optimizer.step()
    run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
    run |= {"optim": "sgd", "lr_scheduler_type": "constant", "max_grad_norm": 0.0}
    run |= {"train_sampling_strategy": "sequential"}
    Trainer(trainer_model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()
