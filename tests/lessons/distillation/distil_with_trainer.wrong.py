# Wrong answers to distil_with_trainer.

# %% answer="plain_baseline" code="compute_loss_not_overridden"
# Source: the Trainer as it is
def distil_with_trainer(student, teacher, loss_function, dataset, rows, learning_rate):
    run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
    Trainer(student, TrainingArguments(**run), train_dataset=dataset).train()


# %% answer="copied_from_lesson" code="trainer_not_used"
# Source: the raw loop of the exercise before
def distil_with_trainer(student, teacher, loss_function, dataset, rows, learning_rate):
    optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
    teacher.eval()
    for batch in torch.utils.data.DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(device) for name, values in batch.items()}
        labels = batch.pop("labels")
        with torch.no_grad():
            answers = teacher(**batch).logits
        loss_function(student(**batch).logits, answers, labels).backward()
        optimizer.step()
        optimizer.zero_grad()


# %% edit="hard_coded" code="other_batch_size" seed=20011
# Source: the batch size of the notebook's case, written down
# -     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run = same_run | {"per_device_train_batch_size": 4, "learning_rate": learning_rate}

# %% edit="train_mode" code="teacher_in_train_mode"
# Source: teacher.eval() forgotten
# -     teacher.eval()

# %% edit="attached" code="teacher_gets_gradients"
# Source: the teacher's forward like the student's
# -             with torch.no_grad():
# -                 teacher_logits = teacher(**inputs).logits
# +             teacher_logits = teacher(**inputs).logits

# %% edit="detached" code="teacher_keeps_a_graph"
# Source: detach() in place of no_grad
# -             with torch.no_grad():
# -                 teacher_logits = teacher(**inputs).logits
# +             teacher_logits = teacher(**inputs).logits.detach()

# %% edit="own_loss_of_the_model" code="loss_function_not_called"
# Source: the model's own loss is returned
# -             loss = loss_function(outputs.logits, teacher_logits, labels)
# +             loss = F.cross_entropy(outputs.logits, labels)

# %% edit="swapped" code="arguments_swapped"
# Source: the teacher first, as in the formula
# -             loss = loss_function(outputs.logits, teacher_logits, labels)
# +             loss = loss_function(teacher_logits, outputs.logits, labels)

# %% edit="asked_twice" code="teacher_not_once_a_batch"
# Source: the labels' loss of the teacher is computed for the log
# -                 teacher_logits = teacher(**inputs).logits
# +                 teacher(**inputs, labels=labels)
# +                 teacher_logits = teacher(**inputs).logits

# %% edit="rate_forgotten" code="other_learning_rate"
# Source: the Trainer's default
# -     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run = same_run | {"per_device_train_batch_size": rows}

# %% edit="defaults_of_the_optimizer" code="another_optimizer"
# Source: optim left at its default
# -     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate, "optim": "adamw_torch"}

# %% edit="linear" code="other_learning_rate"
# Source: lr_scheduler_type left at its default
# -     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run |= {"lr_scheduler_type": "linear"}

# %% edit="drop_last" code="other_number_of_batches"
# Source: batches of one size
# -     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run |= {"dataloader_drop_last": True}

# %% edit="child_of_the_student" code="teacher_trained"
# Source: a teacher kept as an attribute of the student
#       teacher.eval()
# +     student.teacher = teacher

# %% edit="eval_for_both" code="student_in_eval_mode"
# Source: model.eval() in compute_loss
# -             outputs = model(**inputs)
# +             outputs = model.eval()(**inputs)

# %% edit="accumulated" code="batches_without_an_update"
# Source: an argument of another run
# -     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run = same_run | {"per_device_train_batch_size": rows, "learning_rate": learning_rate}
# +     run |= {"gradient_accumulation_steps": 2}
