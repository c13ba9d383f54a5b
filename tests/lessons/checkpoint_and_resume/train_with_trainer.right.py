# Right answers to train_with_trainer.

# %% answer="true_if_there_is_one"
def train_with_trainer(model, examples, arguments, every, folder):
    own = TrainingArguments(output_dir=folder, save_strategy="steps", save_steps=every, **arguments)
    trainer = Trainer(model=model, args=own, train_dataset=examples)
    trainer.train(resume_from_checkpoint=any(Path(folder).glob("checkpoint-*")))


# %% answer="newest_by_number"
def train_with_trainer(model, examples, arguments, every, folder):
    found = sorted(Path(folder).glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    settings = dict(arguments, output_dir=folder, save_steps=every, save_strategy="steps", save_total_limit=2)
    trainer = Trainer(model, TrainingArguments(**settings), train_dataset=examples)
    trainer.train(resume_from_checkpoint=str(found[-1]) if found else None)


# %% answer="positional"
def train_with_trainer(model, examples, arguments, every, folder):
    trainer = Trainer(
        model,
        TrainingArguments(folder, **arguments, save_strategy="steps", save_steps=every),
        train_dataset=examples,
    )
    trainer.train(get_last_checkpoint(folder))
