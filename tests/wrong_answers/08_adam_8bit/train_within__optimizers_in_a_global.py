# Source: optimizers kept for a later epoch
# A name outside of the function holds the optimizers.
KEPT = {}


def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        KEPT[len(handles)] = bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3)
        hook = make_hook(KEPT[len(handles)])
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        parameter.grad = None

    return update
