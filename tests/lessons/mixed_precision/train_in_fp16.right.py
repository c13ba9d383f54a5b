# %% answer="device_of_the_inputs"
# Source: the device that the inputs tell
# Scaler and autocast follow the inputs.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    kind = micro_batches[0][0].device.type
    scaler, autocast = torch.amp.GradScaler(device=kind), torch.autocast(device_type=kind, dtype=torch.float16)
    for inputs, targets in micro_batches:
        optimizer.zero_grad()
        with autocast:
            loss = loss_function(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()


# %% edit="larger_first_scale"
# Source: a first scale of one's own
# Another first scale, and growth after two updates.
#       place = next(model.parameters()).device.type
# -     scaler = torch.amp.GradScaler(place)
# +     scaler = torch.amp.GradScaler(place, init_scale=2.0**18, growth_interval=2)
#       for inputs, targets in micro_batches:
#           with torch.autocast(place, torch.float16):
# -             loss = loss_function(model(inputs), targets)
# +             outputs = model(inputs)
# +         loss = loss_function(outputs.float(), targets)


# %% answer="scaler_by_hand"
# Source: the scaler of the second exercise
# A dynamic scaler of one's own, no library.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    scale = 2.0**14
    for inputs, targets in micro_batches:
        with torch.autocast(inputs.device.type, torch.float16):
            loss = loss_function(model(inputs), targets)
        (scale * loss).backward()
        gradients = [parameter.grad for parameter in model.parameters()]
        if all(bool(gradient.isfinite().all()) for gradient in gradients):
            for gradient in gradients:
                gradient /= scale
            optimizer.step()
        else:
            scale /= 2
        optimizer.zero_grad()
