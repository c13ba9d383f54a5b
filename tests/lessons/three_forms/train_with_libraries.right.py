# %% answer="counted_updates"
# The Trainer's length in updates; the loop in one go over all epochs.
import math
from itertools import chain


def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
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
    Trainer(model=trainer_model, args=arguments, train_dataset=dataset).train()

    accelerator = Accelerator()
    prepared = accelerator.prepare(
        DataLoader(dataset, batch_size=rows),
        torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate),
        accelerate_model,
    )
    loader, optimizer, model = prepared
    for batch in chain.from_iterable(loader for _ in range(epochs)):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        model.zero_grad()


# %% answer="optimizer_by_method"
# A Trainer that makes optimizer and schedule in methods of its own.
class PlainTrainer(Trainer):
    def create_optimizer(self, model=None):
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=self.args.learning_rate)
        return self.optimizer

    def create_scheduler(self, num_training_steps, optimizer=None):
        self.lr_scheduler = torch.optim.lr_scheduler.ConstantLR(self.optimizer, factor=1.0)
        return self.lr_scheduler


def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    sgd = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    accelerator = Accelerator(mixed_precision="no")
    model, sgd, loader = accelerator.prepare(accelerate_model, sgd, DataLoader(dataset, rows))
    for epoch in range(1, epochs + 1):
        for index, batch in enumerate(loader):
            sgd.zero_grad()
            with accelerator.autocast():
                loss = model(**batch).loss
            accelerator.backward(loss)
            sgd.step()

    plain = {"max_grad_norm": 0.0, "train_sampling_strategy": "sequential", "learning_rate": learning_rate}
    arguments = TrainingArguments(num_train_epochs=epochs, per_device_train_batch_size=rows, **plain, **quiet)
    PlainTrainer(trainer_model, arguments, train_dataset=dataset).train()


# %% answer="optimizer_handed_over"
# Two helpers; the Trainer is handed SGD and a constant schedule.
def train_by_accelerate(model, dataset, rows, learning_rate, epochs):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    sgd = accelerator.prepare(torch.optim.SGD(model.parameters(), learning_rate))
    batches = accelerator.prepare(DataLoader(dataset, rows))
    model.train()
    for _ in range(epochs):
        for batch in batches:
            outputs = model(**batch)
            accelerator.backward(outputs.loss)
            sgd.step()
            sgd.zero_grad()


def train_by_trainer(model, dataset, rows, learning_rate, epochs):
    arguments = TrainingArguments(
        per_device_train_batch_size=rows,
        num_train_epochs=epochs,
        lr_scheduler_type="constant",
        max_grad_norm=0,
        train_sampling_strategy="sequential",
        **quiet,
    )
    sgd = torch.optim.SGD(model.parameters(), learning_rate)
    trainer = Trainer(model, arguments, train_dataset=dataset, optimizers=(sgd, None))
    trainer.train()


def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    train_by_accelerate(accelerate_model, dataset, rows, learning_rate, epochs)
    train_by_trainer(trainer_model, dataset, rows, learning_rate, epochs)


# %% answer="sampler_overridden"
# A Trainer subclass with a sampler of its own, a limit that is never met, and a schedule that is handed over.
from torch.utils.data import SequentialSampler


class InOrder(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(train_dataset if train_dataset is not None else self.train_dataset)


def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    accelerator = Accelerator()
    loader = accelerator.prepare_data_loader(DataLoader(dataset, rows, shuffle=False))
    model = accelerator.prepare_model(accelerate_model)
    optimizer = accelerator.prepare_optimizer(torch.optim.SGD(model.parameters(), lr=learning_rate))
    for epoch in range(epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model(**batch, return_dict=True)["loss"]
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

    sgd = torch.optim.SGD(trainer_model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(sgd, lambda update: 1.0)
    arguments = TrainingArguments(num_train_epochs=epochs, per_device_train_batch_size=rows, max_grad_norm=1e9, **quiet)
    InOrder(model=trainer_model, args=arguments, train_dataset=dataset, optimizers=(sgd, schedule)).train()


# %% answer="trainer_for_each_epoch"
# A Trainer for every epoch, and a loss that is computed by hand.
def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    accelerator = Accelerator()
    loader = DataLoader(dataset, batch_size=rows)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    accelerate_model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    epoch = 0
    while epoch < epochs:
        for batch in loader:
            labels = batch.pop("labels")
            logits = accelerate_model(**batch).logits
            loss = torch.nn.functional.cross_entropy(logits, labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        epoch += 1
    settings = dict(quiet, optim="sgd", learning_rate=learning_rate, lr_scheduler_type="constant", max_grad_norm=0.0)
    settings.update(per_device_train_batch_size=rows, num_train_epochs=1, train_sampling_strategy="sequential")
    for _ in range(epochs):
        trainer = Trainer(trainer_model, TrainingArguments(**settings), train_dataset=dataset)
        trainer.train()
