# Source: one optimizer that finds one gradient at a time
# All parameters in one 8-bit optimizer.
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = bitsandbytes.optim.AdamW8bit(model.parameters(), lr=4e-3, weight_decay=0.0)

    def update(_):
        optimizer.step()
        optimizer.zero_grad()

    handles = [parameter.register_post_accumulate_grad_hook(update) for parameter in model.parameters()]
    for words, topics in batches:
        loss = model(words.to(device), topics.to(device))
        loss.backward()
        del loss
    while handles:
        handles.pop().remove()
