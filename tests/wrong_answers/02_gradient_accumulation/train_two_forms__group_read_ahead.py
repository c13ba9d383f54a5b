# Source: Accelerate documentation, accumulation for variable-size samples: a group read with next(), here inside accumulate
# A group can be read ahead, and accumulate still knows where it ends.
def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    micro_batches, remaining = iter(loader), len(loader)
    while remaining:
        group = [next(micro_batches) for _ in range(min(k, remaining))]
        remaining -= len(group)
        for batch in group:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch).loss * k / len(group))
                optimizer.step()
                optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
