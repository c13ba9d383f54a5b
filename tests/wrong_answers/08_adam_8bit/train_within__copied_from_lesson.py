# Source: the closing figure: SGD, which keeps nothing
# No state, and the loss of SGD.
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
        optimizer.step()
        optimizer.zero_grad()
