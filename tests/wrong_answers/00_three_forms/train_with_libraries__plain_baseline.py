# Source: the raw loop of this lesson
# The loop that both forms are compared with trains both models.
def train_in_torch(model, dataset, rows, learning_rate, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for _ in range(epochs):
        for batch in DataLoader(dataset, batch_size=rows):
            batch = {name: values.to(model.device) for name, values in batch.items()}
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()


def train_with_libraries(accelerate_model, trainer_model, dataset, rows: int, learning_rate: float, epochs: int):
    train_in_torch(accelerate_model, dataset, rows, learning_rate, epochs)
    train_in_torch(trainer_model, dataset, rows, learning_rate, epochs)
