# %% answer="own_optimizer_for_the_trainer"
# Source: the Trainer's argument optimizers
def autocast_with_trainer(model, dataset, rows: int, learning_rate: float) -> None:
    arguments = TrainingArguments(per_device_train_batch_size=rows, bf16=True, **same_run)
    sgd = torch.optim.SGD(model.parameters(), lr=learning_rate)
    Trainer(model, arguments, train_dataset=dataset, optimizers=(sgd, None)).train()


# %% answer="written_out"
# Source: every argument written out, without same_run
def autocast_with_trainer(model, dataset, rows: int, learning_rate: float) -> None:
    arguments = TrainingArguments(
        output_dir="trainer_output",
        bf16=True,
        per_device_train_batch_size=rows,
        learning_rate=learning_rate,
        optim="sgd",
        weight_decay=0.0,
        lr_scheduler_type="constant",
        max_grad_norm=0.0,
        num_train_epochs=1,
        train_sampling_strategy="sequential",
        report_to="none",
        save_strategy="no",
        use_cpu=device.type == "cpu",
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=dataset)
    trainer.train()


# %% edit="by_steps"
# Source: max_steps in place of epochs
#       arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "bf16": True}
# +     arguments["max_steps"] = (len(dataset) + rows - 1) // rows
