# %% answer="gradients_corrected"
# Source: the gradients of the short last group are multiplied before the update
# The correction is made on the gradients; the Trainer learns of it after it was built.
def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    sgd = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, sgd, DataLoader(dataset, batch_size=rows))
    seen = 0
    for batch in loader:
        with accelerator.accumulate(model):
            seen += 1
            accelerator.backward(model(**batch).loss)
            if accelerator.sync_gradients:
                for parameter in model.parameters():
                    parameter.grad.mul_(k / seen)
                seen = 0
            optimizer.step()
            optimizer.zero_grad()
    settings = TrainingArguments(
        per_device_train_batch_size=rows, gradient_accumulation_steps=k, learning_rate=learning_rate, **same_run
    )
    trainer = Trainer(model=trainer_model, args=settings, train_dataset=dataset)
    trainer.model_accepts_loss_kwargs = False
    trainer.train()


# %% answer="helpers_and_own_optimizer"
# Source: two helper functions; the Trainer is given its optimizer
# Each form is a function of its own, and the Trainer gets optimizer and schedule.
def train_with_accelerate(model, loader, k, learning_rate):
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    remaining = len(loader)
    group_size = in_group = 0
    for batch in loader:
        if in_group == 0:
            group_size = min(k, remaining)
        with accelerator.accumulate(model):
            outputs = model(**batch)
            accelerator.backward(outputs.loss * (k / group_size))
            optimizer.step()
            optimizer.zero_grad()
        in_group = (in_group + 1) % k
        remaining -= 1


def train_with_trainer(model, dataset, rows, k, learning_rate):
    model.accepts_loss_kwargs = False
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    arguments = TrainingArguments(per_device_train_batch_size=rows, gradient_accumulation_steps=k, **same_run)
    trainer = Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, schedule))
    trainer.train()


def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    train_with_accelerate(accelerate_model, DataLoader(dataset, batch_size=rows), k, learning_rate)
    train_with_trainer(trainer_model, dataset, rows, k, learning_rate)


# %% answer="sum_over_items"
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


# %% answer="trainer_subclass"
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
