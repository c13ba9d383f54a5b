# Source: micro-batches, with an update each
# Each batch is cut into two forwards.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        for part, kinds in zip(words.chunk(2), topics.chunk(2), strict=True):
            model(part.to(device), kinds.to(device)).backward()
    for handle in handles:
        handle.remove()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        parameter.grad = None

    return update
