# %% answer="one_go_over_all_epochs"
# The objects prepared in another order; the gradient cleared by the model, after the step.
from itertools import chain


def train_with_accelerate(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    accelerator = Accelerator()
    prepared = accelerator.prepare(
        DataLoader(dataset, batch_size=rows), torch.optim.SGD(model.parameters(), lr=learning_rate), model
    )
    loader, optimizer, model = prepared
    for batch in chain.from_iterable(loader for _ in range(epochs)):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        model.zero_grad()


# %% answer="prepared_one_by_one"
# Each object has a method of its own; accumulate with one step.
def train_with_accelerate(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    accelerator = Accelerator()
    loader = accelerator.prepare_data_loader(DataLoader(dataset, rows, shuffle=False))
    model = accelerator.prepare_model(model)
    optimizer = accelerator.prepare_optimizer(torch.optim.SGD(model.parameters(), lr=learning_rate))
    for _ in range(epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model(**batch, return_dict=True)["loss"]
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)


# %% answer="loss_by_hand"
# The loss computed from the logits; a constant schedule that is prepared, too.
def train_with_accelerate(model, dataset, rows: int, learning_rate: float, epochs: int) -> None:
    accelerator = Accelerator(mixed_precision="no")
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, foreach=False)
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
    loader = DataLoader(dataset, batch_size=rows)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    epoch = 0
    while epoch < epochs:
        for batch in loader:
            labels = batch.pop("labels")
            with accelerator.autocast():
                loss = torch.nn.functional.cross_entropy(model(**batch).logits, labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
        epoch += 1
