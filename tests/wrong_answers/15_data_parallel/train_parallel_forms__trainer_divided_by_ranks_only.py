# Source: a correction for the ranks only
# The loss of the Trainer is divided by k too often.
def train_parallel_forms(accelerate_model, trainer_model, dataset, batch: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    rows = batch // (accelerator.num_processes * k)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for micro_batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**micro_batch).loss)
            optimizer.step()
            optimizer.zero_grad()
    trainer_model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}

    class Halved(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
            return loss / self.args.world_size

    Halved(trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
