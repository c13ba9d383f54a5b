# %% edit="foreach"
# Source: foreach of torch's Adafactor
# -         optimizer = torch.optim.Adafactor(model.parameters(), lr=lr)
# +         optimizer = torch.optim.Adafactor(model.parameters(), lr=lr, foreach=True)


# %% answer="by_dict"
# Source: a dict of makers; prepare one by one
def train_adafactor_with_accelerate(model, dataset, rows: int, lr: float, library: str) -> None:
    makers = {"torch": torch.optim.Adafactor, "transformers": Adafactor}
    options = {"torch": {}, "transformers": {"relative_step": False, "scale_parameter": False, "warmup_init": False}}
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    optimizer = accelerator.prepare(
        makers[library](list(model.parameters()), lr, **options[library])
        if library == "torch"
        else Adafactor(model.parameters(), lr=lr, **options[library])
    )
    for batch in accelerator.prepare(DataLoader(dataset, rows)):
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()


# %% answer="accumulate_of_one"
# Source: accelerator.accumulate with one batch for an update
def train_adafactor_with_accelerate(model, dataset, rows: int, lr: float, library: str) -> None:
    off = {} if library == "torch" else {"relative_step": False, "scale_parameter": False}
    kind = torch.optim.Adafactor if library == "torch" else Adafactor
    groups = [{"params": [parameter]} for parameter in model.parameters()]
    accelerator = Accelerator()
    parts = model, kind(groups, lr=lr, **off), DataLoader(dataset, batch_size=rows)
    model, optimizer, loader = accelerator.prepare(*parts)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
