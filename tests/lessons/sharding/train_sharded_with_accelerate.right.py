# %% edit="another_order"
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     loader, optimizer, model = accelerator.prepare(loader, optimizer, model)

# %% edit="loader_apart"
# -     model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
# +     model, optimizer = accelerator.prepare(model, optimizer)
# +     loader = accelerator.prepare(loader)

# %% edit="cleared_first"
#       for rows in loader:
# +         optimizer.zero_grad()
#           accelerator.backward(model(**rows).loss)
#           optimizer.step()
# -         optimizer.zero_grad()
