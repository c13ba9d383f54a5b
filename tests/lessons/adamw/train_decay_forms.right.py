# %% answer="names_of_the_trainer"
# Source: the names that the Trainer decays
# get_decay_parameter_names decides in both forms.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    arguments = TrainingArguments(
        per_device_train_batch_size=rows, learning_rate=lr, weight_decay=weight_decay, optim="adamw_torch", **same_run
    )
    trainer = Trainer(trainer_model, arguments, train_dataset=dataset)
    names = set(trainer.get_decay_parameter_names(trainer_model))
    groups = [
        {"params": [parameter], "weight_decay": weight_decay * (name in names)}
        for name, parameter in accelerate_model.named_parameters()
    ]
    accelerator = Accelerator()
    model = accelerator.prepare_model(accelerate_model)
    optimizer = accelerator.prepare_optimizer(torch.optim.AdamW(groups, lr=lr, fused=True))
    for batch in accelerator.prepare_data_loader(DataLoader(dataset, batch_size=rows)):
        loss = model(**batch)["loss"]
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    trainer.train()


# %% answer="own_groups_for_both"
# Source: the same optimizer for both forms
# A function makes the groups; the Trainer gets its optimizer.
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    def make_optimizer(model):
        groups = {True: [], False: []}
        for parameter in model.parameters():
            groups[parameter.dim() > 1].append(parameter)
        decays = {True: weight_decay, False: 0.0}
        return torch.optim.AdamW([{"params": groups[k], "weight_decay": decays[k]} for k in groups], lr=lr)

    accelerator = Accelerator()
    parts = accelerate_model, make_optimizer(accelerate_model), DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(*parts)
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    arguments = TrainingArguments(per_device_train_batch_size=rows, **same_run)
    optimizers = make_optimizer(trainer_model), None
    Trainer(trainer_model, arguments, train_dataset=dataset, optimizers=optimizers).train()


# %% answer="trainer_subclass"
# Source: a subclass that makes its optimizer
def train_decay_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    class Grouped(Trainer):
        def create_optimizer(self, model=None):
            self.optimizer = grouped(self.model)
            return self.optimizer

    def grouped(model):
        small = [parameter for parameter in model.parameters() if parameter.dim() == 1]
        known = set(map(id, small))
        large = [parameter for parameter in model.parameters() if id(parameter) not in known]
        return torch.optim.AdamW(
            [{"params": small, "weight_decay": 0.0}, {"params": large}], lr, weight_decay=weight_decay
        )

    Grouped(
        trainer_model, TrainingArguments(per_device_train_batch_size=rows, **same_run), train_dataset=dataset
    ).train()
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(accelerate_model, grouped(accelerate_model))
    for batch in accelerator.prepare(DataLoader(dataset, batch_size=rows)):
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
