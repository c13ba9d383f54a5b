# Source: nanoGPT's training loop, which clips to norm 1
# Clipping comes along with the loop and changes the gradient.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        for inputs, targets in group:
            loss = loss_function(model(inputs), targets) / len(group)
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
