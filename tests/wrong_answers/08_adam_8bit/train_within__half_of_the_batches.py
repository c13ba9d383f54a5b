# Source: every other batch
# Half of the batches are left out.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches[::2]:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        optimizer.zero_grad()

    return update
