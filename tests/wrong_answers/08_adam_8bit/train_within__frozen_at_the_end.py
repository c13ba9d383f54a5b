# Source: a model that is finished
# The parameters are frozen at the end.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()
    model.requires_grad_(False)


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        parameter.grad = None

    return update
