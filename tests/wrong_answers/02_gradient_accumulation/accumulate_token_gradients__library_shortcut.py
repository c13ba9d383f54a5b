# Source: Accelerate's guide to gradient accumulation: its backward() divides by gradient_accumulation_steps
# The loss is divided by the tokens, and the library divides once more.
from accelerate import Accelerator


def accumulate_token_gradients(model, micro_batches: list) -> float:
    accelerator = Accelerator(gradient_accumulation_steps=len(micro_batches))
    token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        with accelerator.accumulate(model):
            loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum") / token_count
            accelerator.backward(loss)
        total_loss += loss.item()
    return total_loss
