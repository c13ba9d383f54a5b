# The Trainer's length in updates; the loop in one go over all epochs.
import math
from itertools import chain


def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    arguments = TrainingArguments(
        **quiet,
        per_device_train_batch_size=rows,
        max_steps=epochs * math.ceil(len(dataset) / rows),
        optim="sgd",
        learning_rate=learning_rate,
        lr_scheduler_type="constant_with_warmup",
        max_grad_norm=0.0,
        train_sampling_strategy="sequential",
    )
    Trainer(model=trainer_model, args=arguments, train_dataset=dataset).train()

    accelerator = Accelerator()
    prepared = accelerator.prepare(
        DataLoader(dataset, batch_size=rows),
        torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate),
        accelerate_model,
    )
    loader, optimizer, model = prepared
    for batch in chain.from_iterable(loader for _ in range(epochs)):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        model.zero_grad()
