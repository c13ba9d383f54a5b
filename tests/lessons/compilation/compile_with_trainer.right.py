# Right answers to compile_with_trainer.

# %% edit="backend_alone"
# -     run |= {"torch_compile": True, "torch_compile_backend": backend}
# +     run |= {"torch_compile_backend": backend}

# %% edit="default_written_out"
# -     run |= {"torch_compile": True, "torch_compile_backend": backend}
# +     run |= {"torch_compile": True, "torch_compile_backend": backend, "optim_args": None}

# %% edit="own_optimizer"
# -     Trainer(model, TrainingArguments(**run), train_dataset=dataset).train()
# +     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
# +     arguments = TrainingArguments(**run)
# +     Trainer(model=model, args=arguments, train_dataset=dataset, optimizers=(optimizer, schedule)).train()
