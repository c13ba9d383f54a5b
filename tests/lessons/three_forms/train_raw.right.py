# %% edit="cleared_after_step"
# Source: the order of many published loops
# zero_grad() after the update.
#           batch = {name: values.to(model.device) for name, values in batch.items()}
# +         outputs = model(**batch)
# +         outputs.loss.backward()
# +         optimizer.step()
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# -         loss.backward()
# -         optimizer.step()
# -         losses.append(loss.item())
# +         losses.append(float(outputs.loss))


# %% answer="gradients_by_autograd"
# Source: torch.autograd.grad in place of backward()
# Gradients are assigned, so nothing has to be cleared.
def train_raw(model, dataset, rows, learning_rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows, shuffle=False, drop_last=False):
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        parameters = list(model.parameters())
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.grad = gradient
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% answer="helper_and_tuple"
# Source: a helper for one update
# The losses come out of a generator expression, as a tuple.
def make_update(model, optimizer, batch):
    on_device = {key: batch[key].to(model.device) for key in batch}
    optimizer.zero_grad()
    loss = model(**on_device)["loss"]
    loss.backward()
    optimizer.step()
    return loss.item()


def train_raw(model, dataset, rows, learning_rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model = model.train()
    return tuple(make_update(model, optimizer, batch) for batch in DataLoader(dataset, batch_size=rows))


# %% answer="own_cross_entropy"
# Source: the loss computed from the logits
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        targets = batch.pop("labels").to(model.device)
        inputs = {name: values.to(model.device) for name, values in batch.items()}
        loss = torch.nn.functional.cross_entropy(model(**inputs).logits, targets)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


# %% answer="slices_of_the_dataset"
# Source: rows taken by slicing, no DataLoader
# Columns passed by position; losses in an array.
import numpy


def train_raw(model, dataset, rows, learning_rate):
    model.train()
    device = next(model.parameters()).device
    sgd = torch.optim.SGD(model.parameters(), learning_rate)
    starts = range(0, len(dataset), rows)
    losses = numpy.zeros(len(starts))
    for number, start in enumerate(starts):
        chunk = {name: column.to(device) for name, column in dataset[start : start + rows].items()}
        sgd.zero_grad(set_to_none=False)
        output = model(chunk["input_ids"], chunk["attention_mask"], chunk["token_type_ids"], labels=chunk["labels"])
        output.loss.backward()
        sgd.step()
        losses[number] = output.loss.item()
    return losses
