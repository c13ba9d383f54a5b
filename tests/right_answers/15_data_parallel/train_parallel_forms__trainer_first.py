# Source: the two forms in the other order
# The Trainer comes before a loop with no_sync by hand.
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    rows = batch // (dist.get_world_size() * k)
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
    accelerator = Accelerator(cpu=True)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for index, micro_batch in enumerate(loader):
        with nullcontext() if (index + 1) % k == 0 else accelerator.no_sync(model):
            accelerator.backward(model(**micro_batch).loss / k)
        if (index + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()
