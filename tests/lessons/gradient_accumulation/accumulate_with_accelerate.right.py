# %% answer="gradients_corrected"
# Source: the gradients of the short last group are multiplied before the update
def accumulate_with_accelerate(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    sgd = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, sgd, DataLoader(dataset, batch_size=rows))
    seen = 0
    for batch in loader:
        with accelerator.accumulate(model):
            seen += 1
            accelerator.backward(model(**batch).loss)
            if accelerator.sync_gradients:
                for parameter in model.parameters():
                    parameter.grad.mul_(k / seen)
                seen = 0
            optimizer.step()
            optimizer.zero_grad()


# %% answer="helper_counts_down"
# Source: a helper function; the sizes of the groups are counted down
def train_with_accelerate(model, loader, k, learning_rate):
    accelerator = Accelerator(gradient_accumulation_steps=k)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    remaining = len(loader)
    group_size = in_group = 0
    for batch in loader:
        if in_group == 0:
            group_size = min(k, remaining)
        with accelerator.accumulate(model):
            outputs = model(**batch)
            accelerator.backward(outputs.loss * (k / group_size))
            optimizer.step()
            optimizer.zero_grad()
        in_group = (in_group + 1) % k
        remaining -= 1


def accumulate_with_accelerate(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    train_with_accelerate(model, DataLoader(dataset, batch_size=rows), k, learning_rate)


# %% answer="plugin_and_separate_prepare"
# Source: GradientAccumulationPlugin; each object is prepared by itself
from accelerate.utils import GradientAccumulationPlugin


def accumulate_with_accelerate(model, dataset, rows: int, k: int, learning_rate: float) -> None:
    accelerator = Accelerator(gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=k))
    loader = accelerator.prepare(DataLoader(dataset, batch_size=rows))
    model = accelerator.prepare(model)
    optimizer = accelerator.prepare(torch.optim.SGD(model.parameters(), lr=learning_rate))
    full, rest = divmod(len(loader), k)
    sizes = [k] * (full * k) + [rest] * rest
    for size, batch in zip(sizes, loader, strict=True):
        with accelerator.accumulate(model):
            accelerator.backward(k / size * model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
