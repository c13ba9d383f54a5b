# %% answer="accelerate_by_name"
# Source: Accelerate, the whole batch by name
# zero_grad() before the backward.
def train_repaired(model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = Accelerator()
    model.train()
    model, optimizer, loader = accelerator.prepare(
        model, torch.optim.SGD(model.parameters(), lr=learning_rate), DataLoader(dataset, batch_size=rows)
    )
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(model(**batch).loss)
        optimizer.step()


# %% answer="accumulate_of_one"
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


# %% answer="mask_from_the_tokens"
# Source: the mask made from the padding token, as the model would need it
# The loss is computed from the logits.
def train_repaired(model, dataset, rows, learning_rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model = model.train()
    padding = model.config.pad_token_id or 0
    for start in range(0, len(dataset), rows):
        chunk = dataset[start : start + rows]
        tokens = chunk["input_ids"].to(model.device)
        is_word = (tokens != padding).long()
        logits = model(tokens, is_word, chunk["token_type_ids"].to(model.device)).logits
        loss = torch.nn.functional.cross_entropy(logits, chunk["labels"].to(model.device))
        model.zero_grad()
        loss.backward()
        optimizer.step()


# %% answer="published_names_kept"
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


# %% answer="raw_loop"
# Source: raw PyTorch, no library
# All columns by name, in train mode.
def train_repaired(model, dataset, rows, learning_rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
