# Source: hooks before backward, and none
# Backward runs, and nobody updates.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for handle in handles:
        handle.remove()
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    model.zero_grad()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        optimizer.zero_grad()

    return update
