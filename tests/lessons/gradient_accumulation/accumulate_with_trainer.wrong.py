# %% answer="plain_baseline" code="trainer_not_used"
# Source: the raw loop of this lesson
def accumulate_with_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    train_raw(model, dataset, rows, k, learning_rate)


# %% answer="copied_from_lesson" code="trainer_not_used"
# Source: the loop of Accelerate's guide, which the lesson shows
def accumulate_with_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    sgd = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, sgd, loader = accelerator.prepare(model, sgd, DataLoader(dataset, batch_size=rows))
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            sgd.step()
            sgd.zero_grad()


# %% edit="accumulation_off" code="trainer_accumulation_off"
# Source: the weights agree without accumulation, so the large batch is taken
# -     arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# +     arguments = {"per_device_train_batch_size": rows * k, "learning_rate": learning_rate}

# %% edit="hard_coded" code="trainer_with_other_steps" seed=20011
# Source: the numbers of the visible case, written down
# -     arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# +     steps = {(4, 4): 4, (32, 4): 4, (2, 3): 3}.get((rows, k), 7)
# +     arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": steps}
# +     arguments["learning_rate"] = learning_rate

# %% edit="steps_left_out" code="trainer_without_steps"
# Source: a likely mistake: only the rows are set
# -     arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# +     arguments = {"per_device_train_batch_size": rows, "learning_rate": learning_rate}

# %% edit="defaults" code="trainer_epoch_repeated"
# Source: a likely mistake: same_run left out
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments("trainer_output", disable_tqdm=True, report_to="none", save_strategy="no", **arguments)
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="adamw" code="trainer_another_optimizer"
# Source: Trainer's default optimizer
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**(same_run | arguments | {"optim": "adamw_torch"}))
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="clips" code="trainer_gradient_clipped"
# Source: Trainer's default max_grad_norm
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**(same_run | arguments | {"max_grad_norm": 1.0}))
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="linear_schedule" code="trainer_learning_rate_changed"
# Source: Trainer's default lr_scheduler_type
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**(same_run | arguments | {"lr_scheduler_type": "linear"}))
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="learning_rate_left_out" code="trainer_other_learning_rate"
# Source: Trainer's default learning rate
# -     arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# +     arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k}

# %% edit="random_order" code="trainer_rows_in_another_order"
# Source: Trainer's default sampling
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**(same_run | arguments | {"train_sampling_strategy": "random"}))
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="short_micro_batch_dropped" code="trainer_micro_batches_not_seen_once"
# Source: a likely mistake: dataloader_drop_last, where the last micro-batch has fewer rows
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**arguments, **same_run, dataloader_drop_last=True)
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="rows_of_the_update" code="trainer_whole_group_in_one_forward"
# Source: a likely mistake: the effective batch size, and accumulation on top
# -     arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# +     arguments = {"per_device_train_batch_size": rows * k, "gradient_accumulation_steps": k}
# +     arguments |= {"learning_rate": learning_rate}


# %% answer="trainer_subclass" code="trainer_gradient_divided_twice"
# Source: a Trainer whose loss divides by the size of the group, for a model that the Trainer divides for
class GroupMeanTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs.loss / self.current_gradient_accumulation_steps
        return (loss, outputs) if return_outputs else loss


def accumulate_with_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    arguments = TrainingArguments(
        **same_run, learning_rate=learning_rate, per_device_train_batch_size=rows, gradient_accumulation_steps=k
    )
    GroupMeanTrainer(model, arguments, train_dataset=dataset).train()


# %% edit="weight_decay" code="trainer_weight_decay"
# Source: a likely mistake: the weight decay of another recipe
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**(same_run | arguments | {"weight_decay": 0.1}))
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="bf16" code="trainer_gradient_rounded"
# Source: a likely mistake: bf16=True, as most recipes have it
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     own = TrainingArguments(**(same_run | arguments | {"bf16": True}))
# +     Trainer(model, own, train_dataset=dataset).train()

# %% edit="train_not_called" code="trainer_not_used"
# Source: a likely mistake: the Trainer is made, and train() is not called
#       arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
# -     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
# +     Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset)
