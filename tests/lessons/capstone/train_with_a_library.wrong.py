# Wrong answers to train_with_a_library.

# %% answer="plain_baseline" code="nothing_leaner"
# Source: the plain run with Accelerate
def train_with_a_library(model, batches, learning_rate):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=device.type == "cpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in batches:
        accelerator.backward(mean_loss(model, batch))
        optimizer.step()
        optimizer.zero_grad()


# %% answer="hard_coded" code="no_update"
# Source: a copy is trained
def train_with_a_library(model, batches, learning_rate):
    import copy

    from accelerate import Accelerator

    accelerator, own = Accelerator(cpu=device.type == "cpu"), copy.deepcopy(model)
    optimizer = torch.optim.AdamW(own.parameters(), lr=learning_rate)
    for batch in batches:
        for row in batch.split(1):
            accelerator.backward(mean_loss(own, row) / len(batch))
        optimizer.step()
        optimizer.zero_grad()


# %% answer="copied_from_lesson" code="no_library_used"
# Source: the raw run
def train_with_a_library(model, batches, learning_rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    options = torch.nn.LinearCrossEntropyOptions()
    for batch in batches:
        for row in batch.split(1):
            states, targets = states_of(model, row[:, :-1]).flatten(0, 1), row[:, 1:].flatten()
            loss = F.linear_cross_entropy(states, model.head.weight, targets, reduction="sum", options=options)
            (loss / batch[:, 1:].numel()).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% answer="library_shortcut" code="logits_whole"
# Source: Accelerate's accumulation, and the whole logits of a row
def train_with_a_library(model, batches, learning_rate):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=device.type == "cpu", gradient_accumulation_steps=len(batches[0]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in batches:
        for row in batch.split(1):
            with accelerator.accumulate(model):
                accelerator.backward(mean_loss(model, row))
                optimizer.step()
                optimizer.zero_grad()


# %% answer="accumulated_and_divided" code="gradient_divided_twice"
# Source: divided by Accelerate, and by hand
def train_with_a_library(model, batches, learning_rate):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=device.type == "cpu", gradient_accumulation_steps=len(batches[0]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in batches:
        for row in batch.split(1):
            with accelerator.accumulate(model):
                accelerator.backward(mean_loss(model, row) / len(batch))
                optimizer.step()
                optimizer.zero_grad()


# %% answer="trainer_clips" code="gradient_clipped"
# Source: the Trainer's clipping, with a small threshold
def train_with_a_library(model, batches, learning_rate):
    from transformers import Trainer, TrainingArguments

    class LeanTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            rows, options = inputs["rows"], torch.nn.LinearCrossEntropyOptions()
            states, targets = states_of(model, rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()
            return F.linear_cross_entropy(states, model.head.weight, targets, options=options)

    sizes = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": len(batches[0])}
    own = {"optim": "adamw_torch", "learning_rate": learning_rate, "max_grad_norm": 1.0}
    arguments = TrainingArguments(**same_run | own | sizes | {"remove_unused_columns": False})
    examples = [{"rows": row} for batch in batches for row in batch]
    trainer = LeanTrainer(model, arguments, train_dataset=examples)
    trainer.model_accepts_loss_kwargs = False
    trainer.train()


# %% answer="trainer_sgd" code="plain_sgd"
# Source: the optimizer of same_run
def train_with_a_library(model, batches, learning_rate):
    from transformers import Trainer, TrainingArguments

    class LeanTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            rows, options = inputs["rows"], torch.nn.LinearCrossEntropyOptions()
            states, targets = states_of(model, rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()
            return F.linear_cross_entropy(states, model.head.weight, targets, options=options)

    sizes = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": len(batches[0])}
    own = {"learning_rate": learning_rate}
    arguments = TrainingArguments(**same_run | own | sizes | {"remove_unused_columns": False})
    examples = [{"rows": row} for batch in batches for row in batch]
    trainer = LeanTrainer(model, arguments, train_dataset=examples)
    trainer.model_accepts_loss_kwargs = False
    trainer.train()


# %% answer="trainer_falls" code="learning_rate_falls"
# Source: the Trainer's schedule
def train_with_a_library(model, batches, learning_rate):
    from transformers import Trainer, TrainingArguments

    class LeanTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            rows, options = inputs["rows"], torch.nn.LinearCrossEntropyOptions()
            states, targets = states_of(model, rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()
            return F.linear_cross_entropy(states, model.head.weight, targets, options=options)

    sizes = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": len(batches[0])}
    own = {"optim": "adamw_torch", "learning_rate": learning_rate, "lr_scheduler_type": "cosine"}
    arguments = TrainingArguments(**same_run | own | sizes | {"remove_unused_columns": False})
    examples = [{"rows": row} for batch in batches for row in batch]
    trainer = LeanTrainer(model, arguments, train_dataset=examples)
    trainer.model_accepts_loss_kwargs = False
    trainer.train()


# %% answer="trainer_draws" code="rows_in_another_order"
# Source: rows drawn at random
def train_with_a_library(model, batches, learning_rate):
    from transformers import Trainer, TrainingArguments

    class LeanTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            rows, options = inputs["rows"], torch.nn.LinearCrossEntropyOptions()
            states, targets = states_of(model, rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()
            return F.linear_cross_entropy(states, model.head.weight, targets, options=options)

    sizes = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": len(batches[0])}
    own = {"optim": "adamw_torch", "learning_rate": learning_rate, "train_sampling_strategy": "random"}
    arguments = TrainingArguments(**same_run | own | sizes | {"remove_unused_columns": False})
    examples = [{"rows": row} for batch in batches for row in batch]
    trainer = LeanTrainer(model, arguments, train_dataset=examples)
    trainer.model_accepts_loss_kwargs = False
    trainer.train()


# %% answer="trainer_rate" code="learning_rate_too_small"
# Source: the Trainer's default learning rate
def train_with_a_library(model, batches, learning_rate):
    from transformers import Trainer, TrainingArguments

    class LeanTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            rows, options = inputs["rows"], torch.nn.LinearCrossEntropyOptions()
            states, targets = states_of(model, rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()
            return F.linear_cross_entropy(states, model.head.weight, targets, options=options)

    sizes = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": len(batches[0])}
    own = {"optim": "adamw_torch"}
    arguments = TrainingArguments(**same_run | own | sizes | {"remove_unused_columns": False})
    examples = [{"rows": row} for batch in batches for row in batch]
    trainer = LeanTrainer(model, arguments, train_dataset=examples)
    trainer.model_accepts_loss_kwargs = False
    trainer.train()


# %% answer="trainer_epochs" code="several_updates_for_a_batch"
# Source: the Trainer's three epochs
def train_with_a_library(model, batches, learning_rate):
    from transformers import Trainer, TrainingArguments

    class LeanTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            rows, options = inputs["rows"], torch.nn.LinearCrossEntropyOptions()
            states, targets = states_of(model, rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()
            return F.linear_cross_entropy(states, model.head.weight, targets, options=options)

    sizes = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": len(batches[0])}
    own = {"optim": "adamw_torch", "learning_rate": learning_rate, "num_train_epochs": 3}
    arguments = TrainingArguments(**same_run | own | sizes | {"remove_unused_columns": False})
    examples = [{"rows": row} for batch in batches for row in batch]
    trainer = LeanTrainer(model, arguments, train_dataset=examples)
    trainer.model_accepts_loss_kwargs = False
    trainer.train()
