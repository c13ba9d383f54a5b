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
