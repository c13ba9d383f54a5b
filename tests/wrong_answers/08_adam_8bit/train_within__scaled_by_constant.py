# Source: a sum for a mean, and SGD
# Gradients of SGD count 40 times.
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for words, topics in batches:
        model(words.to(device), topics.to(device)).mul(40).backward()
        optimizer.step()
        optimizer.zero_grad()
