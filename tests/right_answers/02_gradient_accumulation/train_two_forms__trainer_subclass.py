# Source: a Trainer whose loss divides by the size of the group
# The Trainer is subclassed; the loop passes the sizes of the groups along.
class GroupMeanTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs.loss / self.current_gradient_accumulation_steps
        return (loss, outputs) if return_outputs else loss


def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    loader = accelerator.prepare(DataLoader(dataset, batch_size=rows))
    model = accelerator.prepare(accelerate_model)
    optimizer = accelerator.prepare(torch.optim.SGD(model.parameters(), lr=learning_rate))
    full, rest = divmod(len(loader), k)
    sizes = [k] * (full * k) + [rest] * rest
    for size, batch in zip(sizes, loader, strict=True):
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(k / size * loss)
            optimizer.step()
            optimizer.zero_grad()
    arguments = TrainingArguments(
        **same_run, learning_rate=learning_rate, per_device_train_batch_size=rows, gradient_accumulation_steps=k
    )
    GroupMeanTrainer(trainer_model, arguments, train_dataset=dataset).train()
