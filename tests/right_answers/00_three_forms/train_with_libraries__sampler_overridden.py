# A Trainer subclass with a sampler of its own, a limit that is never met, and a schedule that is handed over.
from torch.utils.data import SequentialSampler


class InOrder(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(train_dataset if train_dataset is not None else self.train_dataset)


def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    accelerator = Accelerator()
    loader = accelerator.prepare_data_loader(DataLoader(dataset, rows, shuffle=False))
    model = accelerator.prepare_model(accelerate_model)
    optimizer = accelerator.prepare_optimizer(torch.optim.SGD(model.parameters(), lr=learning_rate))
    for epoch in range(epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model(**batch, return_dict=True)["loss"]
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

    sgd = torch.optim.SGD(trainer_model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(sgd, lambda update: 1.0)
    arguments = TrainingArguments(num_train_epochs=epochs, per_device_train_batch_size=rows, max_grad_norm=1e9, **quiet)
    InOrder(model=trainer_model, args=arguments, train_dataset=dataset, optimizers=(sgd, schedule)).train()
