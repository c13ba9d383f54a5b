# %% answer="compute_loss"
class DividingTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(**inputs).loss / self.args.gradient_accumulation_steps


def train_ranks_with_trainer(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    rows = batch // dist.get_world_size() // k
    arguments = TrainingArguments(
        per_device_train_batch_size=rows, gradient_accumulation_steps=k, learning_rate=learning_rate, **same_run
    )
    DividingTrainer(model, arguments, train_dataset=dataset).train()


# %% answer="flag_on_the_trainer"
def train_ranks_with_trainer(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    options = same_run | {"per_device_train_batch_size": batch // k // dist.get_world_size()}
    options |= {"gradient_accumulation_steps": k}
    trainer = Trainer(
        model=model, args=TrainingArguments(learning_rate=learning_rate, **options), train_dataset=dataset
    )
    trainer.model_accepts_loss_kwargs = False
    trainer.train()


# %% answer="own_optimizer"
def train_ranks_with_trainer(model, dataset, batch: int, k: int, learning_rate: float) -> None:
    type(model).accepts_loss_kwargs = False
    arguments = TrainingArguments(
        **same_run,
        per_device_train_batch_size=batch // (int(dist.get_world_size()) * k),
        gradient_accumulation_steps=k,
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
    Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, schedule)).train()
