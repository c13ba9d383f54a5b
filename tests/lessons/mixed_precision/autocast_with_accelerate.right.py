# %% edit="accelerator_autocast"
# Source: accelerator.autocast around the forward
# The forward runs in an autocast region of the accelerator's own, too.
#           optimizer.zero_grad()
# -         accelerator.backward(model(**batch).loss)
# +         with accelerator.autocast():
# +             loss = model(**batch).loss
# +         accelerator.backward(loss)

# %% edit="state_reset_by_hand"
# Source: AcceleratorState reset by hand
# -     accelerator = new_accelerator(mixed_precision="bf16")
# +     AcceleratorState._reset_state(reset_partial_state=True)
# +     accelerator = Accelerator(mixed_precision="bf16", cpu=device.type == "cpu")
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)


# %% answer="prepared_one_by_one"
# Source: prepare called for each object, gradients cleared after the step
def autocast_with_accelerate(model, dataset, rows: int, learning_rate: float) -> None:
    accelerator = new_accelerator(mixed_precision="bf16")
    prepared = accelerator.prepare(model)
    optimizer = accelerator.prepare(torch.optim.SGD(prepared.parameters(), lr=learning_rate, momentum=0.0))
    loader = accelerator.prepare(DataLoader(dataset, batch_size=rows, shuffle=False, drop_last=False))
    prepared.train()
    for batch in loader:
        outputs = prepared(**batch)
        accelerator.backward(outputs["loss"])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
