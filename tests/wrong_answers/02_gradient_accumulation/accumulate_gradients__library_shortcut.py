# Source: Accelerate's guide to gradient accumulation
# accumulate() divides every loss by k, the ones of the short last group too.
from accelerate import Accelerator
from torch.utils.data import DataLoader


def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=k)
    loader = DataLoader(micro_batches, batch_size=None)
    prepared_model, prepared_optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs, targets in loader:
        with accelerator.accumulate(prepared_model):
            accelerator.backward(loss_function(prepared_model(inputs), targets))
            prepared_optimizer.step()
            prepared_optimizer.zero_grad()
