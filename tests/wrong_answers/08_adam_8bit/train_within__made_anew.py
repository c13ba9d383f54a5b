# Source: an optimizer in the hook
# The state is new at each step, and each step has full length.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(4e-2)
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()


def make_hook(rate):
    def update(parameter):
        bitsandbytes.optim.AdamW8bit([parameter], lr=rate).step()
        parameter.grad = None

    return update
