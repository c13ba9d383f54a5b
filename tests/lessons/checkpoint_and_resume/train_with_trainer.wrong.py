# Wrong answers to train_with_trainer.
# Not here: hard_coded, because a run has no values that a cell shows.

# %% edit="plain_baseline" code="begun_again"
# Source: saves that nobody loads
# -     trainer.train(resume_from_checkpoint=get_last_checkpoint(folder))
# +     trainer.train()

# %% answer="copied_from_lesson" code="other_form_used"
# Source: a raw loop
def train_with_trainer(model, examples, arguments, every, folder):
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments["learning_rate"])
    for _ in range(arguments["num_train_epochs"]):
        for example in examples:
            model(example["inputs"], example["targets"])["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()


# %% edit="library_shortcut" code="raised_value_error"
# Source: True in place of a path
# Because: the error of the Trainer says that the folder has no checkpoint, which is the mistake
# -     trainer.train(resume_from_checkpoint=get_last_checkpoint(folder))
# +     trainer.train(resume_from_checkpoint=True)

# %% edit="data_not_skipped" code="epoch_restarted"
# Source: a faster restart
# -     own = {"output_dir": folder, "save_strategy": "steps", "save_steps": every}
# +     own = {"output_dir": folder, "save_strategy": "steps", "save_steps": every, "ignore_data_skip": True}

# %% edit="weights_alone" code="moments_lost"
# Source: smaller checkpoints
# -     own = {"output_dir": folder, "save_strategy": "steps", "save_steps": every}
# +     own = {"output_dir": folder, "save_strategy": "steps", "save_steps": every, "save_only_model": True}

# %% edit="by_epochs" code="older_save_taken"
# Source: one save for each epoch
# -     own = {"output_dir": folder, "save_strategy": "steps", "save_steps": every}
# +     own = {"output_dir": folder, "save_strategy": "epoch"}

# %% edit="default_steps" code="begun_again"
# Source: the Trainer's own 500 updates
# -     own = {"output_dir": folder, "save_strategy": "steps", "save_steps": every}
# +     own = {"output_dir": folder, "save_strategy": "steps"}

# %% edit="one_epoch" code="other_run"
# Source: another number of epochs
# -     trainer = Trainer(model, TrainingArguments(**arguments, **own), train_dataset=examples)
# +     trainer = Trainer(model, TrainingArguments(**arguments | {"num_train_epochs": 1}, **own), train_dataset=examples)

# %% edit="oldest" code="older_save_taken"
# Source: the first folder by name
# -     trainer.train(resume_from_checkpoint=get_last_checkpoint(folder))
# +     found = sorted(map(str, Path(folder).glob("checkpoint-*")))
# +     trainer.train(resume_from_checkpoint=found[0] if found else None)
