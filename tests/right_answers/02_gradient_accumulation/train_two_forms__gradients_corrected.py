# Source: the gradients of the short last group are multiplied before the update
# The correction is made on the gradients; the Trainer is told after it was built.
def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    sgd = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, sgd, DataLoader(dataset, batch_size=rows))
    seen = 0
    for batch in loader:
        with accelerator.accumulate(model):
            seen += 1
            accelerator.backward(model(**batch).loss)
            if accelerator.sync_gradients:
                for parameter in model.parameters():
                    parameter.grad.mul_(k / seen)
                seen = 0
            optimizer.step()
            optimizer.zero_grad()
    settings = TrainingArguments(
        per_device_train_batch_size=rows, gradient_accumulation_steps=k, learning_rate=learning_rate, **same_run
    )
    trainer = Trainer(model=trainer_model, args=settings, train_dataset=dataset)
    trainer.model_accepts_loss_kwargs = False
    trainer.train()
