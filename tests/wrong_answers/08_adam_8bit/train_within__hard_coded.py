# Source: the sizes of the visible case
# Hooks for the widths of the visible models only.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        if parameter.dim() == 2 and parameter.shape[0] not in ROWS:
            continue
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        optimizer.zero_grad()

    return update


ROWS = [32, 64, 128, 192, 256, 512, 3968, 4096]
