# Source: the update of lesson 02, with clipping
# Everything runs in float32, without autocast and without the scaler.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        loss = loss_function(model(inputs), targets) / len(micro_batches)
        loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return norm.item()
