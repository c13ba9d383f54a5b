# Right answers to distil.

# %% answer="inference_mode"
@torch.inference_mode()
def ask(teacher, inputs):
    return teacher(inputs)


def distil(student, teacher, loss_function, batches, learning_rate):
    teacher.train(False), student.train()
    values = []
    for inputs, labels in batches:
        student.zero_grad()
        loss = loss_function(student(inputs), ask(teacher, inputs).clone(), labels)
        loss.backward()
        with torch.no_grad():
            for parameter in student.parameters():
                parameter -= learning_rate * parameter.grad
        values.append(float(loss))
    return values


# %% answer="autograd"
def distil(student, teacher, loss_function, batches, learning_rate):
    def update(inputs, labels):
        with torch.no_grad():
            wanted = teacher(inputs)
        loss = loss_function(student(inputs), wanted, labels)
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.grad = gradient
        optimizer.step()
        return loss.item()

    student.train()
    teacher.eval()
    parameters = list(student.parameters())
    optimizer = torch.optim.SGD(parameters, lr=learning_rate)
    return [update(*batch) for batch in batches]


# %% edit="frozen_teacher"
# -         with torch.no_grad():
# -             teacher_logits = teacher(inputs)
# +         teacher_logits = teacher.requires_grad_(False)(inputs)

# %% edit="forward_by_name"
# -             teacher_logits = teacher(inputs)
# +             teacher_logits = teacher.forward(inputs)

# %% edit="tensors_without_a_graph"
# -         losses.append(loss.item())
# +         losses.append(loss.detach())
