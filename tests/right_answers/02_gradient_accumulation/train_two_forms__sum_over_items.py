# Source: losses as sums over rows; compute_loss_func for the Trainer
# Both forms divide a sum by the number of rows of the group.
from accelerate.utils import GradientAccumulationPlugin


def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=k))
    loader = DataLoader(dataset, batch_size=rows)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    accelerate_model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    micro_batches = len(loader)
    for index, batch in enumerate(loader):
        group_rows = rows * min(k, micro_batches - index // k * k)
        with accelerator.accumulate(accelerate_model):
            logits = accelerate_model(**batch).logits
            total = F.cross_entropy(logits, batch["labels"], reduction="sum")
            accelerator.backward(total * k / group_rows)
            optimizer.step()
            optimizer.zero_grad()

    def mean_of_group(outputs, labels, num_items_in_batch):
        return F.cross_entropy(outputs.logits, labels, reduction="sum") / num_items_in_batch

    arguments = TrainingArguments(
        per_device_train_batch_size=rows, gradient_accumulation_steps=k, learning_rate=learning_rate, **same_run
    )
    Trainer(trainer_model, arguments, train_dataset=dataset, compute_loss_func=mean_of_group).train()
