# Source: published fine-tuning recipes, which begin with a warm-up
# A warm-up is part of every schedule.
def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for _ in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            accelerator.backward(model(**batch).loss)
            optimizer.step()
    run = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "num_train_epochs": epochs}
    run |= {"optim": "sgd", "lr_scheduler_type": "constant_with_warmup", "warmup_steps": 2, "max_grad_norm": 0.0}
    run |= {"train_sampling_strategy": "sequential"}
    Trainer(trainer_model, TrainingArguments(**run, **quiet), train_dataset=dataset).train()
