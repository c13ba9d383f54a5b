# %% edit="other_name"
# Source: adamw_8bit, another name of the same optimizer
# -     own = {"optim": "adamw_bnb_8bit", "learning_rate": lr, "weight_decay": weight_decay}
# +     own = {"optim": "adamw_8bit", "learning_rate": lr, "weight_decay": weight_decay}


# %% answer="handed_over_with_overrides"
# Source: overrides and groups by hand, handed over
def train_eight_bit_with_trainer(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    keep_embeddings_in_32_bits(model)
    groups = [{"params": [p], "weight_decay": weight_decay if p.dim() > 1 else 0.0} for p in model.parameters()]
    arguments = TrainingArguments(per_device_train_batch_size=rows, **same_run)
    pair = bitsandbytes.optim.AdamW8bit(groups, lr=lr), None
    Trainer(model, arguments, train_dataset=dataset, optimizers=pair).train()


# %% edit="by_position"
# Source: arguments by position
# -     Trainer(model, arguments, train_dataset=dataset).train()
# +     Trainer(model, arguments, None, dataset).train()
