# Source: a likely slip: the usual hook, which runs when the block has returned
# Runs are counted where they end, and torch's checkpoint stops its second run before.
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_hook(lambda *_: runs.append(1))
    for run in (block, lambda inputs: checkpoint(block, inputs)):
        inputs = torch.ones(16, 8, requires_grad=True)
        block.zero_grad()
        runs.clear()
        torch.manual_seed(0)
        run(inputs).sum().backward()
        gradients.append(inputs.grad)
    faults = set()
    if block[0].weight.grad is None:
        faults.add("parameter_gradients")
    if not torch.equal(*gradients):
        faults.add("random_state")
    if len(runs) < 2:
        faults.add("no_recompute")
    if not checkpoint(block, torch.ones(16, 8)).requires_grad:
        faults.add("input_without_gradient")
    return faults
