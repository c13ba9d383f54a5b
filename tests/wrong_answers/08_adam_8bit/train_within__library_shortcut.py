# Source: 8-bit Adam alone
# The state is small, and all gradients wait.
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = bitsandbytes.optim.AdamW8bit(model.parameters(), lr=4e-3)
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
        optimizer.step()
        optimizer.zero_grad()
