# Source: parameters in 16 bits
# The model is trained in bfloat16 and converted back.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    model.bfloat16()
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()
    model.float()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        parameter.grad = None

    return update
