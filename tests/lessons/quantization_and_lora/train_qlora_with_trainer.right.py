# Right answers to train_qlora_with_trainer.

# %% edit="checkpointing_of_the_trainer"
# -     model = get_peft_model(prepare_model_for_kbit_training(model), adapter)
# -     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
# +     model = get_peft_model(model, adapter)
# +     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own |= {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}}

# %% edit="fused"
# -     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# +     own = {"optim": "adamw_torch_fused", "learning_rate": learning_rate, "per_device_train_batch_size": rows}

# %% edit="own_optimizer"
# -     own = {"optim": "adamw_torch", "learning_rate": learning_rate, "per_device_train_batch_size": rows}
# -     Trainer(model, TrainingArguments(**(same_run | own)), train_dataset=dataset).train()
# +     optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
# +     arguments = TrainingArguments(**(same_run | {"per_device_train_batch_size": rows}))
# +     Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()
