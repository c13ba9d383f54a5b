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


# %% edit="cleared_before_step" code="cleared_before_update"
# Source: the three lines in a wrong order
# The gradient is gone when the optimizer looks for it.
#           batch = {name: values.to(model.device) for name, values in batch.items()}
# -         optimizer.zero_grad()
#           loss = model(**batch).loss
#           loss.backward()
# +         optimizer.zero_grad()


# %% edit="eval_mode" code="eval_mode"
# Source: a loop copied from an evaluation
# Dropout would be off during training.
#       for batch in DataLoader(dataset, batch_size=rows):  # a dict of tensors on the CPU, each [rows, time] or [rows]
# +         model.eval()


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


# %% edit="divided_by_rows" code="loss_divided_by_rows"
# Source: the habit of averaging a loss over the batch
# The mean is divided by the rows once more.
#           loss = model(**batch).loss
# -         loss.backward()
# +         (loss / rows).backward()


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


# %% edit="step_before_backward" code="update_before_backward"
# Source: the three lines in a wrong order
# Each update uses the gradient of the batch before.
#           batch = {name: values.to(model.device) for name, values in batch.items()}
# +         optimizer.step()
# ...
#           loss.backward()
# -         optimizer.step()


# %% edit="forward_by_name" code="forward_called_directly"
# Source: model.forward, as in other frameworks
#           optimizer.zero_grad()
# -         loss = model(**batch).loss
# +         loss = model.forward(**batch).loss
#           loss.backward()
