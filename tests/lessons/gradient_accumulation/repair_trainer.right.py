# %% answer="attribute_of_the_model"
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    model.accepts_loss_kwargs = False
    arguments = TrainingArguments(per_device_train_batch_size=rows, gradient_accumulation_steps=k, **same_run)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()


# %% answer="trainer_subclass"
# Source: a Trainer whose loss divides by the size of the group
class GroupMeanTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs.loss / self.current_gradient_accumulation_steps
        return (loss, outputs) if return_outputs else loss


def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    arguments = TrainingArguments(
        **same_run, learning_rate=learning_rate, per_device_train_batch_size=rows, gradient_accumulation_steps=k
    )
    GroupMeanTrainer(model, arguments, train_dataset=dataset).train()


# %% answer="loss_divided_by_items"
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    from torch.utils.data import DataLoader

    sizes = [len(batch["labels"]) for batch in DataLoader(dataset, batch_size=rows)]
    groups = [len(sizes[start : start + k]) for start in range(0, len(sizes), k) for _ in sizes[start : start + k]]
    remaining = iter(groups)

    def mean_of_group(outputs, labels, num_items_in_batch):
        return F.cross_entropy(outputs.logits, labels) / next(remaining)

    settings = TrainingArguments(
        per_device_train_batch_size=rows, gradient_accumulation_steps=k, learning_rate=learning_rate, **same_run
    )
    Trainer(model, settings, train_dataset=dataset, compute_loss_func=mean_of_group).train()
