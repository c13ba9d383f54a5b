# Source: the usual loop with AdamW
# State and gradients take three times the parameters.
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, foreach=False)
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
        optimizer.step()
        optimizer.zero_grad()
