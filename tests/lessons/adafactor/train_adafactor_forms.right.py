# %% answer="optimizer_for_both"
# Source: one way to make the optimizer for both forms
# The Trainer is given the optimizer.
def make_adafactor(model, lr):
    return Adafactor(model.parameters(), lr=lr, scale_parameter=False, relative_step=False, warmup_init=False)


def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(dataset, batch_size=rows, shuffle=False))
    model, optimizer = accelerator.prepare(accelerate_model, make_adafactor(accelerate_model, lr))
    model.train()
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    arguments = TrainingArguments(per_device_train_batch_size=rows, learning_rate=lr, **same_run)
    optimizers = (make_adafactor(trainer_model, lr), None)
    Trainer(model=trainer_model, args=arguments, train_dataset=dataset, optimizers=optimizers).train()


# %% answer="trainer_first"
# Source: the Trainer first, with its own groups
# Two groups that do not differ, in the loop.
def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    options = dict(same_run, optim="adafactor", learning_rate=lr, per_device_train_batch_size=rows, weight_decay=0.0)
    Trainer(model=trainer_model, args=TrainingArguments(**options), train_dataset=dataset).train()

    named = list(accelerate_model.named_parameters())
    groups = [{"params": [p for name, p in named if ("bias" in name) == is_bias]} for is_bias in (True, False)]
    accelerator = Accelerator()
    optimizer = Adafactor(groups, lr=lr, relative_step=False, scale_parameter=False, beta1=None)
    prepared = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in prepared[2]:
        output = prepared[0](**batch)
        accelerator.backward(output.loss)
        prepared[1].step()
        prepared[1].zero_grad(set_to_none=False)


# %% answer="trainer_subclass"
# Source: a subclass of the Trainer
# create_optimizer makes the optimizer.
class AdafactorTrainer(Trainer):
    def create_optimizer(self, *arguments, **keywords):
        rate = self.args.learning_rate
        self.optimizer = Adafactor(self.model.parameters(), lr=rate, relative_step=False, scale_parameter=False)
        return self.optimizer


def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    accelerator = Accelerator()
    optimizer = Adafactor(accelerate_model.parameters(), lr=lr, relative_step=False, scale_parameter=False)
    loader = DataLoader(dataset, batch_size=rows)
    accelerate_model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(accelerate_model):
            accelerator.backward(accelerate_model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
    arguments = TrainingArguments(**same_run, per_device_train_batch_size=rows, learning_rate=lr)
    AdafactorTrainer(trainer_model, arguments, train_dataset=dataset).train()
