# Source: the Trainer first, with its own groups
# Two groups that do not differ, in the loop.
def train_adafactor_forms(accelerate_model, trainer_model, dataset, rows: int, lr: float) -> None:
    options = dict(same_run, optim="adafactor", learning_rate=lr, per_device_train_batch_size=rows, weight_decay=0.0)
    Trainer(model=trainer_model, args=TrainingArguments(**options), train_dataset=dataset).train()

    named = list(accelerate_model.named_parameters())
    groups = [{"params": [p for name, p in named if ("bias" in name) == is_bias]} for is_bias in (True, False)]
    accelerator = Accelerator()
    optimizer = Adafactor(groups, lr=lr, relative_step=False, scale_parameter=False, beta1=None)
    prepared = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for batch in prepared[2]:
        output = prepared[0](**batch)
        accelerator.backward(output.loss)
        prepared[1].step()
        prepared[1].zero_grad(set_to_none=False)
