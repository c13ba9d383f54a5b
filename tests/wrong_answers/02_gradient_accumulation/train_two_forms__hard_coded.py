# Source: the numbers of the visible case, written down
# The lesson's k and its last group are the only ones there are.
def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    steps, short = {40: (4, 2), 33: (5, 1)}.get(len(dataset), (4, 2))
    accelerator = Accelerator(gradient_accumulation_steps=steps)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for index, batch in enumerate(loader):
        with accelerator.accumulate(model):
            correction = steps / short if index >= len(loader) - short else 1
            accelerator.backward(model(**batch).loss * correction)
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": steps, "learning_rate": 0.1}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
