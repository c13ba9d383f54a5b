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


# %% answer="copied_from_lesson" code="teacher_asked_too_rarely"
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

# %% edit="asked_twice" code="teacher_asked_again"
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

# %% edit="pseudo_labels" code="labels_of_the_teacher"
# Source: pseudo-labels
# -         loss = loss_function(student(inputs), teacher_logits, labels)
# +         loss = loss_function(student(inputs), teacher_logits, teacher_logits.argmax(dim=1))

# %% edit="labels_only" code="teacher_ignored"
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
