# Source: accelerator.accumulate with one step
# The published frame kept, with one batch for each update.
def columns_for(model, batch):
    return {name: values for name, values in batch.items() if name != "labels"} | {"labels": batch["labels"]}


def train_repaired(model, dataset, rows, learning_rate):
    accelerator = Accelerator(gradient_accumulation_steps=1)
    sgd = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, sgd, loader = accelerator.prepare(model, sgd, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        model.train()
        with accelerator.accumulate(model):
            accelerator.backward(model(**columns_for(model, batch)).loss)
            sgd.step()
            sgd.zero_grad()
