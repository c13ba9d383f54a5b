# Right answers to distillation_loss.

# %% answer="by_the_formula"
def distillation_loss(student_logits, teacher_logits, labels, temperature, alpha):
    log_q = (student_logits / temperature).log_softmax(1)
    log_p = (teacher_logits / temperature).log_softmax(1).detach()
    soft = (log_p.exp() * (log_p - log_q)).sum(1).mean()
    hard = F.nll_loss(student_logits.log_softmax(1), labels)
    return torch.lerp(hard, temperature**2 * soft, alpha)


# %% answer="module"
def distillation_loss(student_logits, teacher_logits, labels, temperature, alpha):
    kl = nn.KLDivLoss(reduction="batchmean", log_target=True)
    with torch.no_grad():
        teacher = F.log_softmax(teacher_logits / temperature, dim=-1)
    soft = kl(F.log_softmax(student_logits / temperature, dim=-1), teacher)
    return nn.CrossEntropyLoss()(student_logits, labels) * (1 - alpha) + soft * (alpha * temperature * temperature)


# %% edit="mean_times_classes"
# -     soft = F.kl_div(student, teacher, reduction="batchmean")
# +     soft = F.kl_div(student, teacher, reduction="sum") / len(labels)

# %% edit="entropy_subtracted"
# -     soft = F.kl_div(student, teacher, reduction="batchmean")
# +     soft = F.cross_entropy(student_logits / temperature, teacher) + (teacher * teacher.log()).sum(dim=1).mean()
