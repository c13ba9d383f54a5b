# Source: a hook that reads a name of the loop
# Every hook steps the last optimizer.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        optimizer = bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3)

        def update(parameter):
            optimizer.step()
            optimizer.zero_grad()
            parameter.grad = None

        handles.append(parameter.register_post_accumulate_grad_hook(update))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()
