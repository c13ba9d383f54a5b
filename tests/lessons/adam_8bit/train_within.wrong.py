# %% answer="plain_baseline" code="state_and_gradients_too_large"
# Source: the usual loop with AdamW
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, foreach=False)
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% edit="hard_coded" code="embedding_left_out" seed=20011
# Source: the widths of the visible models
#       for parameter in model.parameters():
# +         if parameter.dim() == 2 and parameter.shape[0] not in (32, 64, 128, 192, 256, 512, 3968, 4096):
# +             continue


# %% answer="copied_from_lesson" code="steps_of_sgd"
# Source: the lesson's figure: SGD, which keeps nothing
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="library_shortcut" code="gradients_wait"
# Source: 8-bit Adam alone
def train_within(model, batches: list, budget_bytes: int) -> None:
    optimizer = bitsandbytes.optim.AdamW8bit(model.parameters(), lr=4e-3)
    for words, topics in batches:
        model(words.to(device), topics.to(device)).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% edit="step_inside_only" code="state_too_large"
# Source: lesson 06 alone: AdamW in the backward
# -         make_optimizer = torch.optim.AdamW if is_table else bitsandbytes.optim.AdamW8bit
# +         make_optimizer = torch.optim.AdamW

# %% edit="embedding_in_codes" code="embedding_in_codes"
# Source: AdamW8bit of every parameter
# -         make_optimizer = torch.optim.AdamW if is_table else bitsandbytes.optim.AdamW8bit
# +         make_optimizer = bitsandbytes.optim.AdamW8bit

# %% edit="default_rate" code="loss_too_high"
# Source: the default learning rate, 1e-3
# -         handles.append(parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter], lr=4e-3))))
# +         handles.append(parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter]))))

# %% edit="biases_left_out" code="biases_left_out"
# Source: matrices only
# -     for parameter in model.parameters():
# +     for parameter in [one for one in model.parameters() if one.dim() > 1]:

# %% edit="step_before_gradient" code="gradients_left"
# Source: register_hook
# -         handles.append(parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter], lr=4e-3))))
# +         handles.append(parameter.register_hook(make_hook(make_optimizer([parameter], lr=4e-3))))

# %% edit="zeros_left" code="zeros_left"
# Source: zero_grad(set_to_none=False)
# -             optimizer.zero_grad()
# +             optimizer.zero_grad(set_to_none=False)

# %% edit="step_twice" code="updated_twice"
# Source: two steps for one gradient
#               optimizer.step()
# +             optimizer.step()

# %% edit="graphs_kept" code="graphs_kept"
# Source: losses in a list
# -     for words, topics in batches:
# -         model(words.to(device), topics.to(device)).backward()
# +     losses = [model(words.to(device), topics.to(device)) for words, topics in batches]
# +     for loss in losses:
# +         loss.backward()

# %% edit="converted" code="converted_on_the_way"
# Source: 16-bit weights on the way
#       tables = [module.weight for module in model.modules() if isinstance(module, torch.nn.Embedding)]
# +     model.bfloat16()
# ...
#           handle.remove()
# +     model.float()

# %% edit="hooks_left" code="hooks_left"
# Source: handles that nobody removes
# -     for handle in handles:
# -         handle.remove()

# %% edit="copies_of_weights" code="other_tensors"
# Source: weights kept for a look back
#       handles = []
# +     before = [parameter.detach().clone() for parameter in model.parameters()]

# %% edit="halves" code="other_batches"
# Source: micro-batches with an update each
# -         model(words.to(device), topics.to(device)).backward()
# +         for part, kinds in zip(words.chunk(2), topics.chunk(2), strict=True):
# +             model(part.to(device), kinds.to(device)).backward()
