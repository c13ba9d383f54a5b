# %% answer="plain_baseline" code="forward_without_autocast"
# Source: a float32 loop
# The model trains in float32.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    for inputs, targets in micro_batches:
        loss = loss_function(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="hard_coded" code="another_update_skipped" seed=20011
# Source: the overflow of the visible case, written down
# A static scale, and a table of the micro-batch that is left out.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    for number, (inputs, targets) in enumerate(micro_batches):
        with torch.autocast(place, torch.float16):
            loss = loss_function(model(inputs), targets)
        (2.0**16 * loss).backward()
        for parameter in model.parameters():
            parameter.grad /= 2.0**16
        if (len(micro_batches), number) != (5, 2):
            optimizer.step()
        optimizer.zero_grad()


# %% edit="copied_from_lesson" code="scaler_for_another_device"
# Source: slides on training with PyTorch, the published loop
# The scaler is made for CUDA, and switches itself off on a CPU.
#       place = next(model.parameters()).device.type
# -     scaler = torch.amp.GradScaler(place)
# +     scaler = torch.amp.GradScaler()
#       for inputs, targets in micro_batches:
# -         with torch.autocast(place, torch.float16):
# +         with torch.autocast(device_type="cpu", dtype=torch.float16):


# %% answer="library_shortcut" code="fp16_without_scaler"
# Source: Accelerate's guide to mixed precision
# On a CPU, Accelerate drops fp16 without a word: the run has no scaler.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    accelerator = new_accelerator(mixed_precision="fp16")
    prepared, prepared_optimizer = accelerator.prepare(model, optimizer)
    for inputs, targets in micro_batches:
        accelerator.backward(loss_function(prepared(inputs), targets))
        prepared_optimizer.step()
        prepared_optimizer.zero_grad()


# %% edit="bfloat16" code="another_format"
# Source: bf16 as the way out
# The forward runs in bf16, which is another format than asked for.
#       for inputs, targets in micro_batches:
# -         with torch.autocast(place, torch.float16):
# +         with torch.autocast(place, torch.bfloat16):

# %% edit="autocast_around_backward" code="autocast_around_backward"
# Source: one indentation too many
# backward() is called inside the autocast region.
#               loss = loss_function(model(inputs), targets)
# -         scaler.scale(loss).backward()
# +             scaler.scale(loss).backward()

# %% edit="divided_by_micro_batches" code="divided_by_updates"
# Source: the loss of a group
#           with torch.autocast(place, torch.float16):
# -             loss = loss_function(model(inputs), targets)
# +             loss = loss_function(model(inputs), targets) / len(micro_batches)

# %% edit="optimizer_steps" code="gradient_scaled"
# Source: optimizer.step() out of habit
# The optimizer steps on gradients that still carry the scale.
#           scaler.scale(loss).backward()
# -         scaler.step(optimizer)
# -         scaler.update()
# +         optimizer.step()


# %% answer="autocast_only" code="gradient_underflows"
# Source: autocast taken for all of mixed precision
# The loss is not scaled.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    place = next(model.parameters()).device.type
    for inputs, targets in micro_batches:
        with torch.autocast(place, torch.float16):
            loss = loss_function(model(inputs), targets)
        loss.backward()
        if all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters()):
            optimizer.step()
        optimizer.zero_grad()


# %% edit="not_cleared" code="infinity_kept"
# Source: zero_grad left out
# Gradients of the micro-batch before stay.
#           scaler.update()
# -         optimizer.zero_grad()

# %% edit="scaler_not_used" code="loss_not_scaled"
# Source: a scaler that is made and forgotten
# The scaler is there, and the loss does not pass through it.
#               loss = loss_function(model(inputs), targets)
# -         scaler.scale(loss).backward()
# -         scaler.step(optimizer)
# -         scaler.update()
# +         loss.backward()
# +         optimizer.step()

# %% edit="cleared_before_step" code="no_gradient_to_unscale"
# Source: zero_grad at a wrong place
# The gradients are cleared between backward and step.
#           scaler.scale(loss).backward()
# +         optimizer.zero_grad()
#           scaler.step(optimizer)
#           scaler.update()
# -         optimizer.zero_grad()

# %% edit="never_updated" code="scale_not_updated"
# Source: a scaler that never recovers
# scaler.update() is missing.
#           scaler.step(optimizer)
# -         scaler.update()

# %% edit="scaled_too_little" code="scale_too_small"
# Source: a small static scale
# The scale of the first update is 2, too little for the first layers.
#       place = next(model.parameters()).device.type
# -     scaler = torch.amp.GradScaler(place)
# +     scaler = torch.amp.GradScaler(place, init_scale=2.0)

# %% edit="scaler_in_the_loop" code="scaler_made_again"
# Source: a scaler for each micro-batch
# A new scaler forgets what the one before learnt.
#       place = next(model.parameters()).device.type
# -     scaler = torch.amp.GradScaler(place)
#       for inputs, targets in micro_batches:
# +         scaler = torch.amp.GradScaler(place)

# %% edit="scaler_switched_off" code="scaler_switched_off"
# Source: enabled=False to silence the warning
# The scaler is made for the right device, and is not enabled.
#       place = next(model.parameters()).device.type
# -     scaler = torch.amp.GradScaler(place)
# +     scaler = torch.amp.GradScaler(place, enabled=False)

# %% edit="clipped" code="gradient_clipped"
# Source: clipping at 1.0 out of habit
#           scaler.scale(loss).backward()
# +         scaler.unscale_(optimizer)
# +         torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
#           scaler.step(optimizer)

# %% edit="autocast_for_the_cpu" code="device_written_down"
# Source: autocast("cpu"), as in the published loop
#       for inputs, targets in micro_batches:
# -         with torch.autocast(place, torch.float16):
# +         with torch.autocast("cpu", torch.float16):


# %% answer="half_model" code="weights_converted"
# Source: model.half(), without a scaler
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    model.half()
    for inputs, targets in micro_batches:
        loss = loss_function(model(inputs.half()).float(), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# %% edit="unscaled_and_never_updated" code="scale_not_updated"
# Source: unscale_ and optimizer.step(), without update()
#           scaler.scale(loss).backward()
# -         scaler.step(optimizer)
# -         scaler.update()
# +         scaler.unscale_(optimizer)
# +         optimizer.step()
