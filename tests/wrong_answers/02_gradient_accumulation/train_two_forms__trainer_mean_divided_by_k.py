# Source: transformers documentation: compute_loss_func
# A loss function of one's own divides by gradient_accumulation_steps.
def train_two_forms(accelerate_model, trainer_model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    last_group = len(loader) % k or k
    for index, batch in enumerate(loader):
        with accelerator.accumulate(model):
            correction = k / last_group if index >= len(loader) - last_group else 1
            accelerator.backward(model(**batch).loss * correction)
            optimizer.step()
            optimizer.zero_grad()

    def mean_over_k(outputs, labels, num_items_in_batch=None):
        return F.cross_entropy(outputs.logits, labels) / k

    arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": k, "learning_rate": learning_rate}
    Trainer(
        trainer_model, TrainingArguments(**arguments, **same_run), train_dataset=dataset, compute_loss_func=mean_over_k
    ).train()
