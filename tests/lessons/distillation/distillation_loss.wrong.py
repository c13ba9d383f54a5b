# Wrong answers to distillation_loss.
# Not here: hard_coded, because three losses of random logits are nothing to write down.
# Not here: library_shortcut, because no library has an entry point for this loss.

# %% answer="plain_baseline" code="teacher_left_out"
# Source: an ordinary loss
def distillation_loss(student_logits, teacher_logits, labels, temperature, alpha):
    return F.cross_entropy(student_logits, labels)


# %% answer="copied_from_lesson" code="logits_matched"
# Source: the loss of the later run
def distillation_loss(student_logits, teacher_logits, labels, temperature, alpha):
    hard = F.cross_entropy(student_logits, labels)
    return alpha * F.mse_loss(student_logits, teacher_logits.detach()) + (1 - alpha) * hard


# %% edit="attached" code="gradient_reaches_the_teacher"
# Source: detach() left out
# -     teacher = F.softmax(teacher_logits.detach() / temperature, dim=1)
# +     teacher = F.softmax(teacher_logits / temperature, dim=1)

# %% edit="default_reduction" code="another_reduction"
# Source: the default of F.kl_div
# -     soft = F.kl_div(student, teacher, reduction="batchmean")
# +     soft = F.kl_div(student, teacher)

# %% edit="summed" code="another_reduction"
# Source: reduction="sum"
# -     soft = F.kl_div(student, teacher, reduction="batchmean")
# +     soft = F.kl_div(student, teacher, reduction="sum")

# %% edit="swapped" code="arguments_of_kl_swapped"
# Source: the order of the formula, KL(teacher, student)
# -     soft = F.kl_div(student, teacher, reduction="batchmean")
# +     soft = F.kl_div(teacher.log(), student.exp(), reduction="batchmean")

# %% edit="no_square" code="temperature_squared_missing"
# Source: the factor forgotten
# -     return alpha * temperature**2 * soft + (1 - alpha) * hard
# +     return alpha * soft + (1 - alpha) * hard

# %% edit="once" code="temperature_squared_missing"
# Source: the chain rule's factor alone
# -     return alpha * temperature**2 * soft + (1 - alpha) * hard
# +     return alpha * temperature * soft + (1 - alpha) * hard

# %% edit="both" code="both_losses_scaled"
# Source: a pair of parentheses too many
# -     return alpha * temperature**2 * soft + (1 - alpha) * hard
# +     return (alpha * soft + (1 - alpha) * hard) * temperature**2

# %% edit="student_sharp" code="student_not_softened"
# Source: only the targets are softened
# -     student = F.log_softmax(student_logits / temperature, dim=1)
# +     student = F.log_softmax(student_logits, dim=1)

# %% edit="teacher_sharp" code="teacher_not_softened"
# Source: only the student is softened
# -     teacher = F.softmax(teacher_logits.detach() / temperature, dim=1)
# +     teacher = F.softmax(teacher_logits.detach(), dim=1)

# %% edit="no_logarithm" code="probabilities_for_log_probabilities"
# Source: softmax on both sides
# -     student = F.log_softmax(student_logits / temperature, dim=1)
# +     student = F.softmax(student_logits / temperature, dim=1)

# %% edit="two_logarithms" code="log_target_not_declared"
# Source: log_softmax on both sides
# -     teacher = F.softmax(teacher_logits.detach() / temperature, dim=1)
# +     teacher = F.log_softmax(teacher_logits.detach() / temperature, dim=1)

# %% edit="cross_entropy" code="cross_entropy_for_kl"
# Source: F.cross_entropy with probabilities as the target
# -     soft = F.kl_div(student, teacher, reduction="batchmean")
# +     soft = F.cross_entropy(student_logits / temperature, teacher)

# %% edit="soft_labels" code="labels_softened"
# Source: one division for all
# -     student = F.log_softmax(student_logits / temperature, dim=1)
# +     student = F.log_softmax(student_logits / temperature, dim=1)
# +     hard = F.cross_entropy(student_logits / temperature, labels)

# %% edit="alpha_swapped" code="weights_swapped"
# Source: alpha as the weight of the labels
# -     return alpha * temperature**2 * soft + (1 - alpha) * hard
# +     return (1 - alpha) * temperature**2 * soft + alpha * hard

# %% edit="unweighted" code="losses_added"
# Source: the plain sum
# -     return alpha * temperature**2 * soft + (1 - alpha) * hard
# +     return temperature**2 * soft + hard

# %% edit="soft_alone" code="labels_left_out"
# Source: soft targets hold the labels anyway
# -     return alpha * temperature**2 * soft + (1 - alpha) * hard
# +     return alpha * temperature**2 * soft

# %% edit="of_each_row" code="another_shape"
# Source: reduction="none", added over the classes
# -     soft = F.kl_div(student, teacher, reduction="batchmean")
# +     soft = F.kl_div(student, teacher, reduction="none").sum(dim=1)

# %% edit="frozen" code="raised_runtime_error"
# Because: PyTorch names the call that works for logits that were computed, detach().
# Source: requires_grad_(False), as for a model
# -     teacher = F.softmax(teacher_logits.detach() / temperature, dim=1)
# +     teacher = F.softmax(teacher_logits.requires_grad_(False) / temperature, dim=1)

# %% edit="probabilities_first" code="arguments_of_kl_swapped"
# Source: target before input
# -     soft = F.kl_div(student, teacher, reduction="batchmean")
# +     soft = F.kl_div(teacher, student, reduction="batchmean")

# %% edit="over_rows" code="softmax_over_rows"
# Source: dim=0, as for one row
# -     student = F.log_softmax(student_logits / temperature, dim=1)
# -     teacher = F.softmax(teacher_logits.detach() / temperature, dim=1)
# +     student = F.log_softmax(student_logits / temperature, dim=0)
# +     teacher = F.softmax(teacher_logits.detach() / temperature, dim=0)

# %% edit="constant_weights" code="alpha_not_used"
# Source: a tutorial that weighs both alike
# -     return alpha * temperature**2 * soft + (1 - alpha) * hard
# +     return 0.5 * temperature**2 * soft + 0.5 * hard

# %% edit="labels_detached" code="graph_cut"
# Source: detach() on the wrong tensor
# -     return alpha * temperature**2 * soft + (1 - alpha) * hard
# +     return alpha * temperature**2 * soft + (1 - alpha) * hard.detach()
