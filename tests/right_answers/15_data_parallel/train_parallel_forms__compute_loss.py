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
