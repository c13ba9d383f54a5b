# %% edit="for_loop"
# Source: the loop over tensors: adamw_torch
# -     own = {"optim": "adamw_torch_fused", "learning_rate": lr, "weight_decay": weight_decay}
# +     own = {"optim": "adamw_torch", "learning_rate": lr, "weight_decay": weight_decay}


# %% answer="own_optimizer"
# Source: the groups by hand, handed over
def train_decay_groups_with_trainer(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    groups = [{"params": [p], "weight_decay": weight_decay if p.dim() > 1 else 0.0} for p in model.parameters()]
    arguments = TrainingArguments(per_device_train_batch_size=rows, **same_run)
    optimizer = torch.optim.AdamW(groups, lr=lr)
    Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()


# %% answer="subclass"
# Source: a subclass that makes its optimizer
def train_decay_groups_with_trainer(model, dataset, rows: int, lr: float, weight_decay: float) -> None:
    class Grouped(Trainer):
        def create_optimizer(self, model=None):
            small = [parameter for parameter in self.model.parameters() if parameter.dim() < 2]
            large = [parameter for parameter in self.model.parameters() if parameter.dim() > 1]
            groups = [{"params": small, "weight_decay": 0.0}, {"params": large}]
            self.optimizer = torch.optim.AdamW(groups, lr, weight_decay=weight_decay)
            return self.optimizer

    Grouped(model, TrainingArguments(per_device_train_batch_size=rows, **same_run), train_dataset=dataset).train()
