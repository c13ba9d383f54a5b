# Wrong answers to soft_gradient.
# Not here: hard_coded, because five rows of random numbers are nothing to write down.
# Not here: library_shortcut, because no library has an entry point for this gradient.

# %% answer="plain_baseline" code="teacher_made_hard"
# Source: the gradient of a cross-entropy with the teacher's class as the label
def soft_gradient(student_logits, teacher_logits, temperature):
    target = F.one_hot(teacher_logits.argmax(), len(teacher_logits))
    return (torch.softmax(student_logits / temperature, dim=0) - target) / temperature


# %% answer="copied_from_lesson" code="temperature_not_used"
# Source: the sentence of the text, q - label, at temperature 1
def soft_gradient(student_logits, teacher_logits, temperature):
    return torch.softmax(student_logits, dim=0) - torch.softmax(teacher_logits, dim=0)


# %% edit="no_chain_rule" code="temperature_of_the_chain_rule_missing"
# Source: q - p, as for a cross-entropy
# -     return (student - teacher) / temperature
# +     return student - teacher

# %% edit="reversed" code="direction_reversed"
# Source: target minus prediction
# -     return (student - teacher) / temperature
# +     return (teacher - student) / temperature

# %% edit="square" code="divided_by_the_square"
# Source: the gradient fades like 1 / T squared
# -     return (student - teacher) / temperature
# +     return (student - teacher) / temperature**2

# %% edit="loss_multiplied" code="already_multiplied_by_the_square"
# Source: the loss as papers write it, times T squared
# -     return (student - teacher) / temperature
# +     return (student - teacher) * temperature

# %% edit="teacher_sharp" code="temperature_for_the_student_only"
# Source: the temperature belongs to the student
# -     teacher = torch.softmax(teacher_logits / temperature, dim=0)
# +     teacher = torch.softmax(teacher_logits, dim=0)

# %% edit="student_sharp" code="temperature_for_the_teacher_only"
# Source: the temperature softens the targets
# -     student = torch.softmax(student_logits / temperature, dim=0)
# +     student = torch.softmax(student_logits, dim=0)

# %% edit="multiplied" code="logits_multiplied"
# Source: the temperature as an inverse
# -     student = torch.softmax(student_logits / temperature, dim=0)
# -     teacher = torch.softmax(teacher_logits / temperature, dim=0)
# +     student = torch.softmax(student_logits * temperature, dim=0)
# +     teacher = torch.softmax(teacher_logits * temperature, dim=0)

# %% edit="logarithms" code="logarithms_subtracted"
# Source: log_softmax, as in the loss
# -     return (student - teacher) / temperature
# +     return (student.log() - teacher.log()) / temperature

# %% edit="logits" code="logits_subtracted"
# Source: matching logits
# -     return (student - teacher) / temperature
# +     return (student_logits - teacher_logits) / temperature


# %% answer="autograd_of_the_other" code="arguments_of_kl_swapped"
# Source: F.kl_div with the teacher first
def soft_gradient(student_logits, teacher_logits, temperature):
    logits = student_logits.clone().requires_grad_()
    teacher = F.log_softmax(teacher_logits / temperature, dim=0)
    F.kl_div(teacher, F.softmax(logits / temperature, dim=0), reduction="sum").backward()
    return logits.grad


# %% edit="a_number" code="another_shape"
# Source: the gradient's norm
# -     return (student - teacher) / temperature
# +     return ((student - teacher) / temperature).norm()

# %% edit="a_list" code="no_tensor_returned"
# Source: .tolist()
# -     return (student - teacher) / temperature
# +     return ((student - teacher) / temperature).tolist()

# %% edit="limit" code="logits_subtracted"
# Source: the limit of high temperatures, pasted in
# -     return (student - teacher) / temperature
# +     difference = student_logits - student_logits.mean() - teacher_logits + teacher_logits.mean()
# +     return difference / temperature**2 / len(difference)

# %% edit="label_of_the_teacher" code="teacher_made_hard"
# Source: q - label
# -     student = torch.softmax(student_logits / temperature, dim=0)
# -     teacher = torch.softmax(teacher_logits / temperature, dim=0)
# -     return (student - teacher) / temperature
# +     student = torch.softmax(student_logits, dim=0)
# +     student[teacher_logits.argmax()] -= 1
# +     return student / temperature

# %% edit="in_place" code="inputs_changed"
# Source: /= saves a tensor
# -     student = torch.softmax(student_logits / temperature, dim=0)
# +     student_logits /= temperature
# +     student = torch.softmax(student_logits, dim=0)
