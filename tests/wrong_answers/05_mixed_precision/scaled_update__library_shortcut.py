# Source: PyTorch's own scaler
# GradScaler does what is to be written.
def scaled_update(scaler, optimizer) -> None:
    library = torch.amp.GradScaler(device.type, init_scale=scaler.scale, growth_interval=scaler.growth_interval)
    library.scale(torch.ones((), device=device))
    library.step(optimizer)
    library.update()
    scaler.scale = library.get_scale()
