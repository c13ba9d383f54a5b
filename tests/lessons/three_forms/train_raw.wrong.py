# %% edit="plain_baseline" code="forwards_only"
# Source: an evaluation loop, as in many tutorials
# The losses are right and nothing is trained.
#           batch = {name: values.to(model.device) for name, values in batch.items()}
# -         optimizer.zero_grad()
# -         loss = model(**batch).loss
# -         loss.backward()
# -         optimizer.step()
# -         losses.append(loss.item())
# +         with torch.no_grad():
# +             losses.append(model(**batch).loss.item())

# %% answer="hard_coded" code="other_batch_size" seed=20011
# Source: the numbers of the visible case, written down
# The size of an update is looked up by the length of the data.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    rows = {24: 6, 29: 7, 9: 12}.get(len(dataset), 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(model.device) for name, values in batch.items()}
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% answer="copied_from_lesson" code="no_forward"
# Source: the worked example of one number, pasted into the loop
# The model is never called.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        weight = torch.tensor(1.0, requires_grad=True)
        sgd = torch.optim.SGD([weight], lr=0.1)
        sgd.zero_grad()
        loss = (3 * weight - 6) ** 2
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    return losses


# %% answer="library_shortcut" code="trainer_used"
# Source: the quick tour of the Trainer
# The Trainer does the loop.
from transformers import Trainer, TrainingArguments


def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    arguments = TrainingArguments(
        output_dir="trainer_output",
        per_device_train_batch_size=rows,
        learning_rate=learning_rate,
        num_train_epochs=1,
        optim="sgd",
        lr_scheduler_type="constant",
        max_grad_norm=0.0,
        train_sampling_strategy="sequential",
        report_to="none",
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
    )
    trainer = Trainer(model, arguments, train_dataset=dataset)
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


# %% answer="accelerate_loop" code="accelerator_used"
# Source: the lesson's table of the Accelerate form
# prepare and backward of the library stand where raw PyTorch is asked for.
from accelerate import Accelerator


def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    model.train()
    losses = []
    for batch in loader:
        optimizer.zero_grad()
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% answer="adamw" code="another_optimizer"
# Source: the Trainer's default optimizer
# AdamW in place of SGD.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for batch in DataLoader(dataset, batch_size=rows):
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


# %% edit="backward_twice" code="backward_twice"
# Source: backward() for the gradient and once more because the first call raised no error
#           loss = model(**batch).loss
# +         loss.backward(retain_graph=True)

# %% edit="cleared_before_step" code="cleared_before_update"
# Source: the three lines in a wrong order
# The gradient is gone when the optimizer looks for it.
#           batch = {name: values.to(model.device) for name, values in batch.items()}
# -         optimizer.zero_grad()
#           loss = model(**batch).loss
#           loss.backward()
# +         optimizer.zero_grad()

# %% edit="columns_in_the_order_of_the_data" code="columns_mixed_up"
# Source: the columns passed by position, in the order in which the dataset has them
# The model's second parameter is the mask.
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(
# +             *[batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")], labels=batch["labels"]
# +         ).loss


# %% answer="three_epochs" code="epoch_repeated"
# Source: the Trainer's default num_train_epochs
# Every row is seen three times.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    for epoch in range(3):
        for batch in DataLoader(dataset, batch_size=rows):
            optimizer.zero_grad()
            loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


# %% edit="eval_mode" code="eval_mode"
# Source: a loop copied from an evaluation
# Dropout would be off during training.
#       for batch in DataLoader(dataset, batch_size=rows):  # a dict of tensors on the CPU, each [rows, time] or [rows]
# +         model.eval()

# %% edit="loader_rebuilt" code="first_batch_again"
# Source: next(iter(loader)), as in the first lines of many tutorials
# Each update starts the loader again.
#       optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     loader = DataLoader(dataset, batch_size=rows)
#       losses = []
#       model.train()
# -     for batch in DataLoader(dataset, batch_size=rows):  # a dict of tensors on the CPU, each [rows, time] or [rows]
# -         batch = {name: values.to(model.device) for name, values in batch.items()}
# +     for _ in range(len(loader)):
# +         batch = next(iter(loader))
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss

# %% edit="clipped" code="gradient_clipped"
# Source: the Trainer's default max_grad_norm
# Gradients are scaled down to norm 1.
#           loss.backward()
# +         torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

# %% edit="never_cleared" code="gradient_not_cleared"
# Source: PyTorch adds to .grad; zero_grad() is the line that is forgotten most often
# Each update holds the gradients of all batches before it.
#           batch = {name: values.to(model.device) for name, values in batch.items()}
# -         optimizer.zero_grad()

# %% edit="graphs_returned" code="graph_returned"
# Source: the memory section of the PyTorch FAQ: do not accumulate history across your training loop
# Each loss is kept with its graph.
#           optimizer.step()
# -         losses.append(loss.item())
# +         losses.append(loss)

# %% edit="labels_left_out" code="labels_left_out"
# Source: a forward as in inference
# The model returns no loss without labels.
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# -         loss.backward()
# +         outputs = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
# +         outputs.loss.backward()
#           optimizer.step()
# -         losses.append(loss.item())
# +         losses.append(outputs.loss.item())

# %% edit="last_batch_dropped" code="last_batch_dropped"
# Source: drop_last=True, as large-scale recipes have it
#       model.train()
# -     for batch in DataLoader(dataset, batch_size=rows):  # a dict of tensors on the CPU, each [rows, time] or [rows]
# -         batch = {name: values.to(model.device) for name, values in batch.items()}
# +     for batch in DataLoader(dataset, batch_size=rows, drop_last=True):
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss


# %% answer="linear_schedule" code="learning_rate_changed"
# Source: the Trainer's default schedule
# The learning rate falls to 0.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(dataset, batch_size=rows)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 1 - update / len(loader))
    losses = []
    model.train()
    for batch in loader:
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


# %% edit="logits_summed" code="logits_for_loss"
# Source: the PyTorch examples that call out.sum().backward() to have a gradient
# The sum of the outputs is no loss.
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# -         loss.backward()
# +         outputs = model(**batch)
# +         outputs.logits.sum().backward()
#           optimizer.step()
# -         losses.append(loss.item())
# +         losses.append(outputs.loss.item())

# %% edit="divided_by_rows" code="loss_divided_by_rows"
# Source: the habit of averaging a loss over the batch
# The mean is divided by the rows once more.
#           loss = model(**batch).loss
# -         loss.backward()
# +         (loss / rows).backward()

# %% edit="multiplied_by_rows" code="loss_summed_over_rows"
# Source: running_loss += loss.item() * inputs.size(0), as in the tutorial on transfer learning
# The sum over the rows is trained on.
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(**batch).loss * len(batch["labels"])

# %% edit="momentum" code="momentum"
# Source: torch.optim.SGD(..., momentum=0.9), as in most image tutorials
# Each movement holds a part of the one before.
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)
#       losses = []
#       model.train()
#       for batch in DataLoader(dataset, batch_size=rows):  # a dict of tensors on the CPU, each [rows, time] or [rows]
# -         batch = {name: values.to(model.device) for name, values in batch.items()}
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss

# %% edit="no_backward" code="no_backward"
# Source: the thought that the optimizer computes gradients
# step() is called without a gradient.
#           loss = model(**batch).loss
# -         loss.backward()

# %% edit="losses_not_kept" code="no_loss_returned"
# Source: a loop copied without its bookkeeping
# The list that is returned is empty.
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# -         loss.backward()
# +         model(**batch).loss.backward()
#           optimizer.step()
# -         losses.append(loss.item())


# %% answer="mean_returned" code="one_number_returned"
# Source: a progress bar that shows one loss for each epoch
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    total = 0.0
    model.train()
    loader = DataLoader(dataset, batch_size=rows)
    for batch in loader:
        optimizer.zero_grad()
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


# %% edit="batch_size_left_out" code="one_row_at_a_time"
# Source: DataLoader(dataset), whose batch_size is 1
# One row makes one update.
#       model.train()
# -     for batch in DataLoader(dataset, batch_size=rows):  # a dict of tensors on the CPU, each [rows, time] or [rows]
# -         batch = {name: values.to(model.device) for name, values in batch.items()}
# +     for batch in DataLoader(dataset):
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss


# %% answer="one_update" code="one_update_only"
# Source: the whole epoch as one batch: losses added up and one backward
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    model.train()
    optimizer.zero_grad()
    for batch in DataLoader(dataset, batch_size=rows):
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        losses.append(loss.item())
    optimizer.step()
    return losses


# %% edit="returned_in_the_loop" code="only_first_batch"
# Source: a return that is indented once too often
# Only the first batch is trained on.
#       for batch in DataLoader(dataset, batch_size=rows):  # a dict of tensors on the CPU, each [rows, time] or [rows]
# -         batch = {name: values.to(model.device) for name, values in batch.items()}
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
# ...
#           losses.append(loss.item())
# -     return losses
# +         return losses

# %% edit="tokens_and_labels_only" code="only_tokens_handed_over"
# Source: a published slide: outputs = model(inputs, labels=targets)
# Mask and token types are left out.
#           batch = {name: values.to(model.device) for name, values in batch.items()}
# +         inputs, targets = batch["input_ids"], batch["labels"]
# +         outputs = model(inputs, labels=targets)
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# -         loss.backward()
# +         outputs.loss.backward()
#           optimizer.step()
# -         losses.append(loss.item())
# +         losses.append(outputs.loss.item())

# %% edit="weights_moved_by_hand" code="optimizer_not_used"
# Source: the first chapters of PyTorch tutorials, which write the update themselves
# The optimizer that the exercise gives is not used.
#           batch = {name: values.to(model.device) for name, values in batch.items()}
# -         optimizer.zero_grad()
# +         model.zero_grad()
#           loss = model(**batch).loss
#           loss.backward()
# -         optimizer.step()
# +         with torch.no_grad():
# +             for parameter in model.parameters():
# +                 parameter -= learning_rate * parameter.grad

# %% edit="default_learning_rate" code="other_learning_rate"
# Source: the Trainer's default learning rate
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.parameters(), lr=5e-5)
#       losses = []
#       model.train()
#       for batch in DataLoader(dataset, batch_size=rows):  # a dict of tensors on the CPU, each [rows, time] or [rows]
# -         batch = {name: values.to(model.device) for name, values in batch.items()}
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss

# %% edit="mask_left_out" code="padding_attended"
# Source: a forward with the columns that seem to carry the text
# Padding is attended.
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(batch["input_ids"], token_type_ids=batch["token_type_ids"], labels=batch["labels"]).loss

# %% edit="classifier_only" code="part_of_the_weights_left_out"
# Source: fine-tuning recipes that train the new head alone
# The optimizer is given a part of the parameters.
# -     optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(model.classifier.parameters(), lr=learning_rate)
#       losses = []
#       model.train()
#       for batch in DataLoader(dataset, batch_size=rows):  # a dict of tensors on the CPU, each [rows, time] or [rows]
# -         batch = {name: values.to(model.device) for name, values in batch.items()}
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss

# %% edit="shuffled" code="rows_in_another_order"
# Source: every tutorial on DataLoader: shuffle=True for training
# The rows are drawn at random.
#       model.train()
# -     for batch in DataLoader(dataset, batch_size=rows):  # a dict of tensors on the CPU, each [rows, time] or [rows]
# -         batch = {name: values.to(model.device) for name, values in batch.items()}
# +     for batch in DataLoader(dataset, batch_size=rows, shuffle=True):
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss


# %% answer="running_mean" code="running_mean_of_losses"
# Source: the loss that a progress bar shows
# Each number is the mean of all losses so far.
def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses, total = [], 0.0
    model.train()
    for count, batch in enumerate(DataLoader(dataset, batch_size=rows), start=1):
        optimizer.zero_grad()
        loss = model(**{name: values.to(model.device) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        total += loss.item()
        losses.append(total / count)
    return losses


# %% edit="token_types_left_out" code="token_types_left_out"
# Source: a forward for models without token types, such as DistilBERT
# Both sentences look like one.
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model(batch["input_ids"], batch["attention_mask"], labels=batch["labels"]).loss

# %% edit="two_forwards" code="two_forwards_each"
# Source: a second call of the model to read the loss
# Every batch is computed twice.
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# -         loss.backward()
# +         model(**batch).loss.backward()
# +         losses.append(model(**batch).loss.item())
#           optimizer.step()
# -         losses.append(loss.item())

# %% edit="step_before_backward" code="update_before_backward"
# Source: the three lines in a wrong order
# Each update uses the gradient of the batch before.
#           batch = {name: values.to(model.device) for name, values in batch.items()}
# +         optimizer.step()
# ...
#           loss.backward()
# -         optimizer.step()
