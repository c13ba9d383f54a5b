# A Trainer for every epoch, and a loss that is computed by hand.
def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    accelerator = Accelerator()
    loader = DataLoader(dataset, batch_size=rows)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    accelerate_model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    epoch = 0
    while epoch < epochs:
        for batch in loader:
            labels = batch.pop("labels")
            logits = accelerate_model(**batch).logits
            loss = torch.nn.functional.cross_entropy(logits, labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        epoch += 1
    settings = dict(quiet, optim="sgd", learning_rate=learning_rate, lr_scheduler_type="constant", max_grad_norm=0.0)
    settings.update(per_device_train_batch_size=rows, num_train_epochs=1, train_sampling_strategy="sequential")
    for _ in range(epochs):
        trainer = Trainer(trainer_model, TrainingArguments(**settings), train_dataset=dataset)
        trainer.train()
