# Right answers to soft_gradient.

# %% answer="by_autograd"
def soft_gradient(student_logits, teacher_logits, temperature):
    logits = student_logits.clone().requires_grad_()
    student = F.log_softmax(logits / temperature, dim=0)
    loss = F.kl_div(student, F.softmax(teacher_logits / temperature, dim=0), reduction="sum")
    return torch.autograd.grad(loss, logits)[0]


# %% answer="by_numpy"
def soft_gradient(student_logits, teacher_logits, temperature):
    import numpy

    def soften(logits):
        powers = numpy.exp((logits.numpy() - logits.numpy().max()) / temperature)
        return powers / powers.sum()

    return torch.from_numpy((soften(student_logits) - soften(teacher_logits)) / temperature)


# %% answer="in_one_softmax"
def soft_gradient(student_logits, teacher_logits, temperature):
    student, teacher = torch.stack([student_logits, teacher_logits]).div(temperature).softmax(dim=1)
    return (student - teacher).div_(temperature)
