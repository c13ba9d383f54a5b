# %% answer="plain_baseline" code="state_and_gradients_too_large"
# Source: the usual loop with AdamW
# State and gradients take three times the parameters.
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, foreach=False)
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="hard_coded" code="embedding_left_out" seed=20011
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


# %% answer="copied_from_lesson" code="steps_of_sgd"
# Source: the closing figure: SGD, which keeps nothing
# No state, and the loss of SGD.
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="library_shortcut" code="gradients_wait"
# Source: 8-bit Adam alone
# The state is small, and all gradients wait.
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = bitsandbytes.optim.AdamW8bit(model.parameters(), lr=4e-3)
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="step_inside_only" code="state_too_large"
# Source: lesson 06 alone: AdamW in the backward
# Gradients are gone, the state is not small.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(torch.optim.AdamW([parameter], lr=4e-3, foreach=False))
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


# %% answer="momentum_inside" code="steps_of_momentum"
# Source: momentum in the backward
# The state of momentum is the size of the model.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(torch.optim.SGD([parameter], lr=0.02, momentum=0.9))
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


# %% answer="made_anew" code="optimizers_made_again"
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


# %% answer="name_of_the_loop" code="most_parameters_left_out"
# Source: a hook that reads a name of the loop
# Every hook steps the last optimizer.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        optimizer = bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3)

        def update(parameter):
            optimizer.step()
            optimizer.zero_grad()
            parameter.grad = None

        handles.append(parameter.register_post_accumulate_grad_hook(update))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()


# %% answer="biases_left_out" code="biases_left_out"
# Source: matrices only
# Biases and normalisations are not trained.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in [p for p in model.parameters() if p.dim() > 1]:
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


# %% answer="step_before_gradient" code="gradients_left"
# Source: register_hook
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        optimizer.zero_grad()

    return update


# %% answer="zeros_left" code="zeros_left"
# Source: zero_grad(set_to_none=False)
# Gradients of zero take as much memory.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    return update


# %% answer="graphs_kept" code="graphs_kept"
# Source: losses in a list
# Losses and their graphs are kept until the end.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    losses = [model(words.to(device), topics.to(device)) for words, topics in batches]
    for loss in losses:
        loss.backward()
    for handle in handles:
        handle.remove()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        optimizer.zero_grad()

    return update


# %% answer="default_rate" code="loss_too_high"
# Source: the default learning rate
# A rate of 1e-3.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter]))
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


# %% answer="half_precision" code="format_changed"
# Source: weights in bfloat16
# The model is converted.
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


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        optimizer.zero_grad()

    return update


# %% answer="bfloat16_on_the_way" code="converted_on_the_way"
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


# %% answer="copy_trained" code="model_not_called"
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


# %% answer="hooks_left" code="hooks_left"
# Source: handles that nobody keeps
# Hooks stay on the parameters.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        optimizer.zero_grad()

    return update


# %% answer="optimizers_in_a_global" code="state_left"
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


# %% answer="kept_in_a_global" code="memory_kept"
# Source: a list outside
# Optimizers are kept when the call ends.
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        KEPT.append(hook)
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


KEPT = []


# %% answer="scaled_by_constant" code="diverged"
# Source: a sum for a mean, and SGD
# Gradients of SGD count 40 times.
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for words, topics in batches:
        model(words.to(device), topics.to(device)).mul(40).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="copies_of_weights" code="other_tensors"
# Source: weights kept for a look back
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles, before = [], [parameter.detach().clone() for parameter in model.parameters()]
    for parameter in model.parameters():
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


# %% answer="batches_in_halves" code="other_batches"
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


# %% answer="step_twice" code="updated_twice"
# Source: two epochs in one
def train_within(model, batches: list, budget_bytes: int) -> None:
    handles = []
    for parameter in model.parameters():
        hook = make_hook(bitsandbytes.optim.AdamW8bit([parameter], lr=4e-3))
        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
    for handle in handles:
        handle.remove()


def make_hook(optimizer):
    def update(parameter):
        optimizer.step()
        optimizer.step()
        parameter.grad = None

    return update


# %% answer="frozen_at_the_end" code="frozen_at_the_end"
# Source: a model that is finished
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
