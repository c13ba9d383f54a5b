# Right answers to distil_with_trainer.

# %% answer="teacher_as_a_member"
class TeacherTrainer(Trainer):
    def __init__(self, *arguments, teacher, loss_of_logits, **keywords):
        super().__init__(*arguments, **keywords)
        self.teacher, self.loss_of_logits = teacher.eval().requires_grad_(False), loss_of_logits

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        labels = inputs.pop("labels")
        loss = self.loss_of_logits(model(**inputs).logits, self.teacher(**inputs).logits, labels)
        return (loss, None) if return_outputs else loss


def distil_with_trainer(student, teacher, loss_function, dataset, rows, learning_rate):
    arguments = TrainingArguments(**same_run, per_device_train_batch_size=rows, learning_rate=learning_rate)
    TeacherTrainer(student, arguments, train_dataset=dataset, teacher=teacher, loss_of_logits=loss_function).train()


# %% answer="own_optimizer"
def distil_with_trainer(student, teacher, loss_function, dataset, rows, learning_rate):
    class Distiller(Trainer):
        def compute_loss(self, model, inputs, **_):
            labels = inputs["labels"]
            inputs = {name: values for name, values in inputs.items() if name != "labels"}
            with torch.inference_mode():
                answers = teacher.eval()(**inputs).logits
            return loss_function(model(**inputs).logits, answers.clone(), labels)

    optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 1.0)
    arguments = TrainingArguments(**same_run, per_device_train_batch_size=rows)
    Distiller(student, arguments, train_dataset=dataset, optimizers=(optimizer, schedule)).train()


# %% edit="logits_by_position"
# -             loss = loss_function(outputs.logits, teacher_logits, labels)
# +             loss = loss_function(outputs[0], teacher_logits, labels)

# %% edit="labels_in_the_inputs"
# -             labels = inputs.pop("labels")
# +             labels = inputs["labels"]
