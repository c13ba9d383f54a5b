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
