# Source: the raw region inside of Accelerate
# The Accelerator is not told the precision, and autocast is written by hand.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = new_accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    for batch in loader:
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16):
            loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
