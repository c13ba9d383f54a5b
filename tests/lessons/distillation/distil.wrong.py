# Wrong answers to distil.
# Not here: library_shortcut, because PyTorch has no entry point for it.

# %% answer="plain_baseline" code="teacher_not_asked"
# Source: an ordinary loop
def distil(student, teacher, loss_function, batches, learning_rate):
    optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
    student.train()
    losses = []
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(student(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% answer="copied_from_lesson" code="teacher_not_once_a_batch"
# Source: the stored answers of the comparison
def distil(student, teacher, loss_function, batches, learning_rate):
    teacher.eval()
    with torch.no_grad():
        answers = teacher(torch.cat([inputs for inputs, _ in batches]))
    student.train()
    optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
    losses, start = [], 0
    for inputs, labels in batches:
        loss = loss_function(student(inputs), answers[start : start + len(inputs)], labels)
        start += len(inputs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% edit="hard_coded" code="student_in_eval_mode" seed=20011
# Source: the rate of the notebook's case, and a student that comes in train mode there
# -     student.train()
# -     optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)

# %% edit="train_mode" code="teacher_in_train_mode"
# Source: teacher.eval() forgotten
# -     teacher.eval()
# -     student.train()
# +     student.train()

# %% edit="detached" code="teacher_keeps_a_graph"
# Source: detach() in place of no_grad
# -         with torch.no_grad():
# -             teacher_logits = teacher(inputs)
# +         teacher_logits = teacher(inputs).detach()

# %% edit="attached" code="teacher_gets_gradients"
# Source: the teacher's forward like the student's
# -         with torch.no_grad():
# -             teacher_logits = teacher(inputs)
# +         teacher_logits = teacher(inputs)

# %% edit="in_the_optimizer" code="teacher_trained"
# Source: the parameters of both models
# -     optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD([*student.parameters(), *teacher.parameters()], lr=learning_rate)

# %% edit="asked_twice" code="teacher_not_once_a_batch"
# Source: the logits computed once more for the loss
# -             teacher_logits = teacher(inputs)
# +             teacher(inputs)
# +             teacher_logits = teacher(inputs)

# %% edit="eval_for_both" code="student_in_eval_mode"
# Source: both models in eval mode
# -     student.train()
# +     student.eval()

# %% edit="never_cleared" code="gradients_never_cleared"
# Source: zero_grad forgotten
#           loss = loss_function(student(inputs), teacher_logits, labels)
# -         optimizer.zero_grad()

# %% edit="swapped" code="arguments_swapped"
# Source: the teacher first, as in the formula
# -         loss = loss_function(student(inputs), teacher_logits, labels)
# +         loss = loss_function(teacher_logits, student(inputs), labels)

# %% edit="softmaxed" code="teacher_softmaxed"
# Source: soft targets are probabilities
# -         loss = loss_function(student(inputs), teacher_logits, labels)
# +         loss = loss_function(student(inputs), teacher_logits.softmax(dim=1), labels)


# %% edit="labels_only" code="loss_function_not_called"
# Source: the loss of an ordinary loop
# -         loss = loss_function(student(inputs), teacher_logits, labels)
# +         loss = F.cross_entropy(student(inputs), labels)

# %% edit="adamw" code="another_optimizer"
# Source: the optimizer of the demonstration
# -     optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.AdamW(student.parameters(), lr=learning_rate)

# %% edit="nothing_returned" code="no_list_returned"
# Source: return forgotten
#           losses.append(loss.item())
# -     return losses

# %% edit="two_passes" code="other_number_of_batches"
# Source: epochs=2
# -     for inputs, labels in batches:
# +     for inputs, labels in batches * 2:

# %% edit="student_twice" code="student_runs_again"
# Source: a forward for the log
# -         loss = loss_function(student(inputs), teacher_logits, labels)
# +         student(inputs)
# +         loss = loss_function(student(inputs), teacher_logits, labels)

# %% edit="no_grad_for_both" code="student_without_a_graph"
# Source: one block for both forwards
# -             teacher_logits = teacher(inputs)
# -         loss = loss_function(student(inputs), teacher_logits, labels)
# +             teacher_logits, student_logits = teacher(inputs), student(inputs)
# +         loss = loss_function(student_logits, teacher_logits, labels)

# %% edit="cleared_too_late" code="update_without_a_gradient"
# Source: zero_grad after backward
# -         optimizer.zero_grad()
# -         loss.backward()
# +         loss.backward()
# +         optimizer.zero_grad()

# %% edit="accumulated" code="batches_without_an_update"
# Source: one update at the end
# -         optimizer.zero_grad()
#           loss.backward()
# -         optimizer.step()
#           losses.append(loss.item())
# +     optimizer.step()

# %% edit="default_rate" code="other_learning_rate"
# Source: the rate left out
# -     optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(student.parameters())

# %% edit="head_alone" code="parameters_left_out"
# Source: fine-tuning of the last layer
# -     optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
# +     optimizer = torch.optim.SGD(list(student.parameters())[-2:], lr=learning_rate)

# %% edit="after_the_update" code="losses_after_the_update"
# Source: the loss of the log
# -         losses.append(loss.item())
# +         losses.append(loss_function(student(inputs), teacher_logits, labels).item())
