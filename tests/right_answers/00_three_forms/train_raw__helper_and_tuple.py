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
