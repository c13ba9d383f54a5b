# %% answer="plain_baseline" code="plain_update"
# Source: the update of lesson 02, with clipping
# Everything runs in float32, without autocast and without the scaler.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        loss = loss_function(model(inputs), targets) / len(micro_batches)
        loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return norm.item()


# %% answer="hard_coded" code="skipped_without_infinity" seed=20011
# Source: the overflows of the visible case, written down
# A table of skipped groups replaces the scaler's look at the gradients.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    train_group.calls = getattr(train_group, "calls", -1) + 1
    is_second = train_group.calls >= 14
    number = train_group.calls - 14 * is_second
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        with torch.autocast(inputs.device.type, torch.float16):
            loss = loss_function(model(inputs), targets) / len(micro_batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if number not in ((3, 6) if is_second else (2, 9)):
        optimizer.step()
    scaler.update()
    return norm.item()


# %% answer="copied_from_lesson" code="micro_batches_not_seen_once"
# Source: the lesson's cell on the order of clipping
# The loop over the micro-batches is missing: only the first of them is used.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    inputs, targets = micro_batches[0]
    optimizer.zero_grad()
    with torch.autocast(inputs.device.type, torch.float16):
        loss = loss_function(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% answer="library_shortcut" code="accelerator_used"
# Source: Accelerate's guide to mixed precision
# Accelerate is to scale, and on a CPU it does not.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    from accelerate import Accelerator

    accelerator = Accelerator()
    prepared, prepared_optimizer = accelerator.prepare(model, optimizer)
    prepared_optimizer.zero_grad()
    for inputs, targets in micro_batches:
        accelerator.backward(loss_function(prepared(inputs), targets) / len(micro_batches))
    norm = accelerator.clip_grad_norm_(prepared.parameters(), max_norm)
    prepared_optimizer.step()
    return norm.item()


# %% edit="bfloat16" code="another_format"
# Source: the default dtype of autocast on a CPU
# Autocast runs in bf16, where no scale is needed.
#       for inputs, targets in micro_batches:
# -         with torch.autocast(inputs.device.type, torch.float16):
# +         with torch.autocast(inputs.device.type, torch.bfloat16):


# %% edit="autocast_around_backward" code="autocast_around_backward"
# Source: one indentation too many
# backward() is called inside the autocast region.
#               loss = loss_function(model(inputs), targets) / len(micro_batches)
# -         scaler.scale(loss).backward()
# +             scaler.scale(loss).backward()

# %% edit="cleared_within_group" code="cleared_within_group"
# Source: zero_grad inside the loop
# Every micro-batch clears what the one before added.
# -     optimizer.zero_grad()
#       for inputs, targets in micro_batches:
# +         optimizer.zero_grad()

# %% edit="clipped_before_unscaling" code="clipped_before_unscaling"
# Source: survey of courses, lesson 05: norm 196,608 for 3
# The scaled gradient is clipped, and what is left is divided by the scale.
#           scaler.scale(loss).backward()
# -     scaler.unscale_(optimizer)

# %% edit="clipped_norm_returned" code="clipped_norm_returned"
# Source: the norm of what is left
# The norm is taken after the clipping.
#       scaler.update()
# -     return norm.item()
# +     return min(norm.item(), max_norm) if norm.isfinite() else norm.item()

# %% edit="no_autocast" code="forward_without_autocast"
# Source: a scaler without autocast
# The loss is scaled, and the forward runs in float32.
#       for inputs, targets in micro_batches:
# -         with torch.autocast(inputs.device.type, torch.float16):
# -             loss = loss_function(model(inputs), targets) / len(micro_batches)
# +         loss = loss_function(model(inputs), targets) / len(micro_batches)

# %% edit="not_averaged" code="gradient_not_averaged"
# Source: the loss of lesson 02, undivided
# The loss is not divided by the number of micro-batches.
#           with torch.autocast(inputs.device.type, torch.float16):
# -             loss = loss_function(model(inputs), targets) / len(micro_batches)
# +             loss = loss_function(model(inputs), targets)

# %% edit="not_cleared" code="infinity_kept"
# Source: zero_grad left out
# The gradients of the group before are still there.
# -     optimizer.zero_grad()
#       for inputs, targets in micro_batches:

# %% edit="not_clipped" code="not_clipped"
# Source: a norm that is only measured
#       scaler.unscale_(optimizer)
# -     norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
# +     norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in model.parameters()])

# %% edit="optimizer_steps" code="not_skipped"
# Source: optimizer.step() out of habit
# The optimizer steps on infinite gradients too.
#       norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
# -     scaler.step(optimizer)
# +     optimizer.step()

# %% edit="nothing_scaled" code="nothing_scaled"
# Source: a scaler that is given no loss
# scaler.scale is left out.
#               loss = loss_function(model(inputs), targets) / len(micro_batches)
# -         scaler.scale(loss).backward()
# +         loss.backward()

# %% edit="never_updated" code="scale_not_updated"
# Source: a scaler that never recovers
# scaler.update() is missing.
#       scaler.step(optimizer)
# -     scaler.update()

# %% edit="clipped_and_not_unscaled" code="not_unscaled"
# Source: an optimizer's step after clipping
#           scaler.scale(loss).backward()
# -     scaler.unscale_(optimizer)
#       norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
# -     scaler.step(optimizer)
# -     scaler.update()
# +     optimizer.step()

# %% edit="stepped_twice" code="stepped_twice"
# Source: a step of the scaler and one by hand
#       scaler.step(optimizer)
# +     if norm.isfinite():
# +         optimizer.step()

# %% edit="unscaled_for_each_micro_batch" code="unscaled_twice"
# Source: unscale_ next to backward
# The gradients are unscaled after every micro-batch.
#           scaler.scale(loss).backward()
# -     scaler.unscale_(optimizer)
# +         scaler.unscale_(optimizer)


# %% answer="update_every_micro_batch" code="update_every_micro_batch"
# Source: everything inside the loop
# Every micro-batch has a step of its own.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    for inputs, targets in micro_batches:
        optimizer.zero_grad()
        with torch.autocast(inputs.device.type, torch.float16):
            loss = loss_function(model(inputs), targets) / len(micro_batches)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
    return norm.item()


# %% answer="half_model" code="weights_in_16_bit"
# Source: model.half()
# The weights are converted to fp16.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    model.half()
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        with torch.autocast(inputs.device.type, torch.float16):
            loss = loss_function(model(inputs), targets) / len(micro_batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% answer="whole_group_at_once" code="whole_group_in_one_forward"
# Source: one forward for the group
# The micro-batches are put together.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    inputs, targets = (torch.cat(parts) for parts in zip(*micro_batches, strict=True))
    optimizer.zero_grad()
    with torch.autocast(inputs.device.type, torch.float16):
        loss = loss_function(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% edit="clipped_each_micro_batch" code="clipped_each_micro_batch"
# Source: clipping right after backward()
#           scaler.scale(loss).backward()
# +         torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

# %% edit="model_forward" code="no_forward"
# Source: model.forward in place of the model
#           with torch.autocast(inputs.device.type, torch.float16):
# -             loss = loss_function(model(inputs), targets) / len(micro_batches)
# +             loss = loss_function(model.forward(inputs), targets) / len(micro_batches)
