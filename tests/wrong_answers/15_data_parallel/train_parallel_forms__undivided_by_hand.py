# Source: no_sync by hand without the steps of the Accelerator
# accelerator.backward divides by 1, and nobody by k.
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    rows = batch // (dist.get_world_size() * k)
    accelerator = Accelerator(cpu=True)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for index, micro_batch in enumerate(loader):
        with nullcontext() if (index + 1) % k == 0 else accelerator.no_sync(model):
            accelerator.backward(model(**micro_batch).loss)
        if (index + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
