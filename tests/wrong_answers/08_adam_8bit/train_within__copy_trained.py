# Source: a copy that is trained and copied back
# A copy of the model is called, and never the model.
import copy


def train_within(model, batches: list, budget_bytes: int) -> None:
    given, handles = model, []
    model = copy.deepcopy(model)
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()
    given.load_state_dict(model.state_dict())


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        parameter.grad = None

    return update
