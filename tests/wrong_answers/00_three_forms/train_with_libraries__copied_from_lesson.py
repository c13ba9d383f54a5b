# Source: this lesson's run_trainer with the arguments that make it a raw loop
# The function of the demonstration trains on whatever it is called for.
def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(accelerate_model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(accelerate_model, optimizer, DataLoader(dataset, batch_size=rows))
    for _ in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            accelerator.backward(model(**batch).loss)
            optimizer.step()
    as_the_loop = {"optim": "sgd", "learning_rate": learning_rate, "weight_decay": 0.0, "lr_scheduler_type": "constant"}
    as_the_loop |= {"max_grad_norm": 0.0, "train_sampling_strategy": "sequential"}
    run_trainer(trainer_model, rows, num_train_epochs=epochs, **as_the_loop)
