# %% answer="counted_by_hand"
def train_local_sgd_with_accelerate(model, dataset, rows: int, k: int, every: int, learning_rate: float) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    model, loader = accelerator.prepare(model, DataLoader(dataset, rows))
    optimizer = accelerator.prepare(torch.optim.SGD(model.parameters(), learning_rate))
    with LocalSGD(accelerator, model, every) as local_sgd:
        for number, (inputs, targets) in enumerate(loader, start=1):
            with accelerator.accumulate(model):
                loss = F.mse_loss(model(inputs), targets)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            if number % k == 0:
                local_sgd.step()


# %% edit="step_for_each_update"
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# -     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=k * every) as local_sgd:
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=every) as local_sgd:
# ...
#                   optimizer.zero_grad()
# -                 local_sgd.step()
# +                 if accelerator.sync_gradients:
# +                     local_sgd.step()

# %% edit="step_outside_accumulate"
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
# +     loader = DataLoader(dataset, batch_size=rows)
# +     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# ...
#                   optimizer.zero_grad()
# -                 local_sgd.step()
# +             local_sgd.step()
