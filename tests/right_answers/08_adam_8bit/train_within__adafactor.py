# Source: lesson 07's optimizer in the backward
# Adafactor as the Trainer sets it.
def train_within(model, batches: list, budget_bytes: int) -> None:
    from transformers.optimization import Adafactor

    handles = []
    for parameter in model.parameters():
        hook = make_hook(Adafactor([parameter], lr=4e-3, scale_parameter=False, relative_step=False))
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
