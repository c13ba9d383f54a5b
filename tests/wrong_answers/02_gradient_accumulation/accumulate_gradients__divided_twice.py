# Source: Accelerate's guide to gradient accumulation: backward() divides already
# A loop keeps its own division and gets a second one from the library.
from accelerate import Accelerator
from torch.utils.data import DataLoader


def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    prepared_model, prepared_optimizer, loader = accelerator.prepare(
        model, optimizer, DataLoader(micro_batches, batch_size=None)
    )
    for inputs, targets in loader:
        with accelerator.accumulate(prepared_model):
            loss = loss_function(prepared_model(inputs), targets)
            loss = loss / k
            accelerator.backward(loss)
            prepared_optimizer.step()
            prepared_optimizer.zero_grad()
