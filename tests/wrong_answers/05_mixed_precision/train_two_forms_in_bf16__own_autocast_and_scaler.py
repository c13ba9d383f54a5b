# Source: fp16 by hand inside of Accelerate
# An autocast region of fp16 is put around the forward.
def train_two_forms_in_bf16(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = new_accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.float16):
            loss = model(**batch).loss
        with torch.autocast(device.type, torch.float16):
            accelerator.backward(loss)
        optimizer.step()
    arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
