# %% answer="compute_loss"
class DividingTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        return loss / self.args.gradient_accumulation_steps


def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    rows = batch // dist.get_world_size() // k
    arguments = TrainingArguments(
        per_device_train_batch_size=rows, gradient_accumulation_steps=k, learning_rate=learning_rate, **same_run
    )
    DividingTrainer(trainer_model, arguments, train_dataset=dataset).train()
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    prepared = accelerator.prepare(
        DataLoader(dataset, batch_size=rows),
        torch.optim.SGD(accelerate_model.parameters(), learning_rate),
        accelerate_model,
    )
    for rows in prepared[0]:
        with accelerator.accumulate(prepared[2]):
            accelerator.backward(prepared[2](**rows).loss)
            prepared[1].step()
            prepared[1].zero_grad()


# %% answer="no_sync_by_hand"
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True)
    rows = batch // accelerator.num_processes // k
    model = accelerator.prepare(accelerate_model)
    optimizer = accelerator.prepare(torch.optim.SGD(model.parameters(), lr=learning_rate))
    loader = accelerator.prepare(DataLoader(dataset, batch_size=rows))
    for index, inputs in enumerate(loader):
        is_last = index % k == k - 1
        with nullcontext() if is_last else accelerator.no_sync(model):
            accelerator.backward(model(**inputs).loss / k)
        if is_last:
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = TrainingArguments(
        per_device_train_batch_size=rows, gradient_accumulation_steps=k, learning_rate=learning_rate, **same_run
    )
    trainer = Trainer(trainer_model, arguments, train_dataset=dataset)
    trainer.train()


# %% answer="split_batches"
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(
        cpu=True, gradient_accumulation_steps=k, dataloader_config=DataLoaderConfiguration(split_batches=True)
    )
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=batch // k)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    for rows in loader:
        with accelerator.accumulate(model):
            output = model(**rows)
            accelerator.backward(output.loss)
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    rows = batch // k // dist.get_world_size()
    options = same_run | {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k}
    Trainer(
        model=trainer_model, args=TrainingArguments(learning_rate=learning_rate, **options), train_dataset=dataset
    ).train()


# %% answer="trainer_first"
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
