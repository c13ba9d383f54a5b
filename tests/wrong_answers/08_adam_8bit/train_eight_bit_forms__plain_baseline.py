# Source: a raw loop, twice
# Neither form is used.
def train_eight_bit_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    for model in (accelerate_model, trainer_model):
        optimizer = bitsandbytes.optim.AdamW8bit(model.parameters(), lr=lr, weight_decay=weight_decay)
        for batch in DataLoader(dataset, batch_size=rows):
            model(**{name: values.to(device) for name, values in batch.items()}).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
