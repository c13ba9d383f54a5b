# Wrong answers to repair_trainer.
# Not here: hard_coded, because no number of the visible case occurs in an answer.

# %% answer="plain_baseline" code="trainer_gradient_not_averaged"
# Source: transformers issue 47688: the Trainer as it is
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% answer="copied_from_lesson" code="trainer_not_used"
# Source: the raw loop of this lesson
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    train_raw(model, dataset, rows, k, learning_rate)


# %% answer="rate_divided_by_k" code="trainer_gradient_not_averaged"
# Source: a gradient k times too large, and a rate k times smaller
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    arguments = {
        "per_device_train_batch_size": rows,
        "gradient_accumulation_steps": k,
        "learning_rate": learning_rate / k,
    }
    Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% answer="accumulation_off" code="trainer_accumulation_off"
# Source: without accumulation nothing has to be divided
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    arguments = {"per_device_train_batch_size": rows * k, "learning_rate": learning_rate}
    Trainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% answer="mean_divided_by_k" code="trainer_short_group_divided_by_k"
# Source: transformers documentation: compute_loss_func
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    def mean_over_k(outputs, labels, num_items_in_batch=None):
        return F.cross_entropy(outputs.logits, labels) / k

    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    own = TrainingArguments(**arguments, **same_run)
    Trainer(model, own, train_dataset=dataset, compute_loss_func=mean_over_k).train()


# %% answer="mean_divided_by_items" code="trainer_gradient_divided_twice"
# Source: a mean divided by num_items_in_batch, as if it were a sum
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    def mean_over_items(outputs, labels, num_items_in_batch):
        return F.cross_entropy(outputs.logits, labels) / num_items_in_batch

    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    own = TrainingArguments(**arguments, **same_run)
    Trainer(model, own, train_dataset=dataset, compute_loss_func=mean_over_items).train()


# %% answer="loss_divided_again" code="trainer_gradient_divided_twice"
# Source: compute_loss that divides, and the attribute too
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    class Divided(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            return model(**inputs).loss / self.current_gradient_accumulation_steps

    model.accepts_loss_kwargs = False
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Divided(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()


# %% answer="clipped" code="trainer_gradient_clipped"
# Source: a gradient that is too large is clipped, as the Trainer does by default
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    own = TrainingArguments(**(same_run | arguments | {"max_grad_norm": 1.0}))
    Trainer(model, own, train_dataset=dataset).train()


# %% answer="mean_over_rows" code="trainer_micro_batches_weighed_unequally"
# Source: a sum over rows divided by num_items_in_batch, as for tokens
# A short micro-batch counts less than a full one.
def repair_trainer(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    class RowTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            return model(**inputs).loss * len(inputs["labels"]) / num_items_in_batch

    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    RowTrainer(model, TrainingArguments(**arguments, **same_run), train_dataset=dataset).train()
