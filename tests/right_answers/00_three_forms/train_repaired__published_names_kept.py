# Source: the published loop with its names, one line changed at a time
# The optimizer is not prepared; the step is that of plain SGD.
def train_repaired(model, dataset, rows, learning_rate):
    accelerator = Accelerator()
    model, dataloader = accelerator.prepare(model.train(), DataLoader(dataset, batch_size=rows))
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for index, batch in enumerate(dataloader):
        inputs, targets = batch["input_ids"], batch["labels"]
        known = {"attention_mask": batch["attention_mask"], "token_type_ids": batch["token_type_ids"]}
        outputs = model(inputs, labels=targets, **known)
        loss = outputs.loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
