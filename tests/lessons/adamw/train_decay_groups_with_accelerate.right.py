# %% answer="names_of_the_trainer"
# Source: the names that the Trainer decays, and prepare_* one by one
def train_decay_groups_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    names = set(Trainer(model, TrainingArguments(**same_run)).get_decay_parameter_names(model))
    groups = [
        {"params": [parameter], "weight_decay": weight_decay * (name in names)}
        for name, parameter in model.named_parameters()
    ]
    accelerator = Accelerator()
    model = accelerator.prepare_model(model)
    optimizer = accelerator.prepare_optimizer(torch.optim.AdamW(groups, lr=lr, fused=True))
    for batch in accelerator.prepare_data_loader(DataLoader(dataset, batch_size=rows)):
        accelerator.backward(model(**batch)["loss"])
        optimizer.step()
        optimizer.zero_grad()


# %% answer="accumulate_of_one"
# Source: accelerator.accumulate, with one batch for an update
def train_decay_groups_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    small = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    known = set(map(id, small))
    large = [parameter for parameter in model.parameters() if id(parameter) not in known]
    groups = [{"params": small, "weight_decay": 0.0}, {"params": large}]
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(groups, lr, weight_decay=weight_decay))
    for batch in accelerator.prepare(DataLoader(dataset, batch_size=rows)):
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()


# %% answer="adam_decoupled"
# Source: Adam with decoupled_weight_decay=True is AdamW
def train_decay_groups_with_accelerate(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    groups = {True: [], False: []}
    for parameter in model.parameters():
        groups[parameter.dim() > 1].append(parameter)
    parts = [{"params": groups[True], "weight_decay": weight_decay}, {"params": groups[False], "weight_decay": 0}]
    optimizer = torch.optim.Adam(parts, lr=lr, decoupled_weight_decay=True)
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, rows))
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()
