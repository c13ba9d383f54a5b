# %% answer="counted_updates"
# The length given in updates, and a constant schedule by another name.
import math


def train_with_trainer(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    arguments = TrainingArguments(
        **quiet,
        per_device_train_batch_size=rows,
        max_steps=epochs * math.ceil(len(dataset) / rows),
        optim="sgd",
        learning_rate=learning_rate,
        lr_scheduler_type="constant_with_warmup",
        max_grad_norm=0.0,
        train_sampling_strategy="sequential",
    )
    Trainer(model=model, args=arguments, train_dataset=dataset).train()


# %% answer="optimizer_by_method"
# A Trainer that makes optimizer and schedule in methods of its own.
class PlainTrainer(Trainer):
    def create_optimizer(self, model=None):
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=self.args.learning_rate)
        return self.optimizer

    def create_scheduler(self, num_training_steps, optimizer=None):
        self.lr_scheduler = torch.optim.lr_scheduler.ConstantLR(self.optimizer, factor=1.0)
        return self.lr_scheduler


def train_with_trainer(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    plain = {"max_grad_norm": 0.0, "train_sampling_strategy": "sequential", "learning_rate": learning_rate}
    arguments = TrainingArguments(num_train_epochs=epochs, per_device_train_batch_size=rows, **plain, **quiet)
    PlainTrainer(model, arguments, train_dataset=dataset).train()


# %% answer="optimizer_handed_over"
# SGD and a schedule handed over, a sampler of its own, and a limit that no gradient reaches.
from torch.utils.data import SequentialSampler


class InOrder(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(train_dataset if train_dataset is not None else self.train_dataset)


def train_with_trainer(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    sgd = torch.optim.SGD(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(sgd, lambda update: 1.0)
    arguments = TrainingArguments(num_train_epochs=epochs, per_device_train_batch_size=rows, max_grad_norm=1e9, **quiet)
    InOrder(model=model, args=arguments, train_dataset=dataset, optimizers=(sgd, schedule)).train()


# %% answer="trainer_for_each_epoch"
# A Trainer for every epoch.
def train_with_trainer(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    settings = dict(quiet, optim="sgd", learning_rate=learning_rate, lr_scheduler_type="constant", max_grad_norm=0.0)
    settings.update(per_device_train_batch_size=rows, num_train_epochs=1, train_sampling_strategy="sequential")
    for _ in range(epochs):
        Trainer(model, TrainingArguments(**settings), train_dataset=dataset).train()


# %% answer="shared_arguments"
# The arguments that later lessons import.
from grader import plain_trainer_arguments


def train_with_trainer(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    run = plain_trainer_arguments(model.device) | {"per_device_train_batch_size": rows, "num_train_epochs": epochs}
    Trainer(model, TrainingArguments(**run, learning_rate=learning_rate), train_dataset=dataset).train()
