# %% edit="class_and_options"
# Source: optimizer_cls_and_kwargs of the Trainer
# -     optimizer = torch.optim.Adafactor(model.parameters(), lr=lr) if library == "torch" else None
# -     Trainer(model, arguments, train_dataset=dataset, optimizers=(optimizer, None)).train()
# +     pair = (torch.optim.Adafactor, {"lr": lr}) if library == "torch" else None
# +     Trainer(model, arguments, train_dataset=dataset, optimizer_cls_and_kwargs=pair).train()

# %% edit="both_by_hand"
# Source: both optimizers made by hand
# -     optimizer = torch.optim.Adafactor(model.parameters(), lr=lr) if library == "torch" else None
# +     optimizer = torch.optim.Adafactor(model.parameters(), lr=lr)
# +     if library == "transformers":
# +         optimizer = Adafactor(model.parameters(), lr=lr, relative_step=False, scale_parameter=False)


# %% answer="subclass"
# Source: a subclass that makes its optimizer
def train_adafactor_with_trainer(model, dataset, rows: int, lr: float, library: str) -> None:
    class OfTorch(Trainer):
        def create_optimizer(self, model=None):
            self.optimizer = torch.optim.Adafactor(self.model.parameters(), lr=lr)
            return self.optimizer

    own = {"optim": "adafactor", "learning_rate": lr, "per_device_train_batch_size": rows}
    kind = {"torch": OfTorch, "transformers": Trainer}[library]
    kind(model, TrainingArguments(**(same_run | own)), train_dataset=dataset).train()
