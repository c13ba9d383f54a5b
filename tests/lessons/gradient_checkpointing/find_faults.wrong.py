# %% answer="plain_baseline" code="no_fault_found"
# Source: no test at all
# Every checkpoint is called sound.
def find_faults(checkpoint):
    return set()


# %% answer="hard_coded" code="same_for_every_checkpoint" seed=20011
# Source: the published checkpoint, whose faults are written down
# The three published faults are named for every checkpoint.
def find_faults(checkpoint):
    return {"parameter_gradients", "random_state", "input_without_gradient"}


# %% answer="copied_from_lesson" code="several_faults_missed"
# Source: the published example, which printed the gradient of the input
def find_faults(checkpoint):
    block = torch.nn.Linear(8, 8)
    inputs = torch.ones(16, 8, requires_grad=True)
    checkpoint(block, inputs).sum().backward()
    return (
        {"parameter_gradients", "input_without_gradient"} if inputs.grad is None or block.weight.grad is None else set()
    )


# %% answer="hook_after_the_block" code="end_of_a_run_counted"
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


# %% answer="first_fault_returned" code="first_fault_only"
# Source: a likely slip: return at the first fault
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
    for run in (block, lambda inputs: checkpoint(block, inputs)):
        inputs = torch.ones(16, 8, requires_grad=True)
        block.zero_grad()
        runs.clear()
        torch.manual_seed(0)
        run(inputs).sum().backward()
        gradients.append(inputs.grad)
    faults = set()
    if block[0].weight.grad is None:
        return {"parameter_gradients"}
    if not torch.equal(*gradients):
        return {"random_state"}
    if len(runs) < 2:
        return {"no_recompute"}
    if not checkpoint(block, torch.ones(16, 8)).requires_grad:
        faults.add("input_without_gradient")
    return faults


# %% answer="input_always_with_gradient" code="input_without_gradient_missed"
# Source: a likely slip: the test input needs a gradient
# An input without a gradient is never tried.
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
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
    if not checkpoint(block, torch.ones(16, 8, requires_grad=True)).requires_grad:
        faults.add("input_without_gradient")
    return faults


# %% answer="gradient_of_the_input_expected" code="input_without_gradient_reported"
# Source: a likely slip: the input itself is looked at
# The input is asked whether it needs a gradient.
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
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
    if not torch.ones(16, 8).requires_grad:
        faults.add("input_without_gradient")
    return faults


# %% answer="runs_counted_over_both" code="no_recompute_missed"
# Source: a likely slip: the counter is not cleared
# The run of the plain block is counted too.
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
    for run in (block, lambda inputs: checkpoint(block, inputs)):
        inputs = torch.ones(16, 8, requires_grad=True)
        block.zero_grad()
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


# %% answer="one_run_called_right" code="no_recompute_turned_round"
# Source: a likely slip: two runs are taken for a fault
# The condition for a second run is turned round.
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
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
    if len(runs) > 1:
        faults.add("no_recompute")
    if not checkpoint(block, torch.ones(16, 8)).requires_grad:
        faults.add("input_without_gradient")
    return faults


# %% answer="gradients_not_cleared" code="parameter_gradients_missed"
# Source: a likely slip: gradients of the plain run are still there
# A missing gradient is hidden by that of the plain block.
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
    for run in (block, lambda inputs: checkpoint(block, inputs)):
        inputs = torch.ones(16, 8, requires_grad=True)
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


# %% answer="parameter_flag_looked_at" code="parameter_gradients_reported"
# Source: a likely slip: requires_grad is taken for a gradient
# Parameters that need a gradient are taken to have none.
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
    for run in (block, lambda inputs: checkpoint(block, inputs)):
        inputs = torch.ones(16, 8, requires_grad=True)
        block.zero_grad()
        runs.clear()
        torch.manual_seed(0)
        run(inputs).sum().backward()
        gradients.append(inputs.grad)
    faults = set()
    if block[0].weight.requires_grad:
        faults.add("parameter_gradients")
    if not torch.equal(*gradients):
        faults.add("random_state")
    if len(runs) < 2:
        faults.add("no_recompute")
    if not checkpoint(block, torch.ones(16, 8)).requires_grad:
        faults.add("input_without_gradient")
    return faults


# %% answer="stops_without_graph" code="raised_runtime_error"
# Source: a likely slip: backward is called whatever the output is
# Because: find_faults itself calls backward, and torch's error says that there is no graph.
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
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
    checkpoint(block, torch.ones(16, 8)).sum().backward()
    return faults


# %% answer="missing_gradient_compared" code="random_state_implied_by_parameter_gradients"
# Source: a likely slip: None compared with a gradient
# A missing gradient of a parameter is called a wrong mask.
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
    for run in (block, lambda inputs: checkpoint(block, inputs)):
        inputs = torch.ones(16, 8, requires_grad=True)
        block.zero_grad()
        runs.clear()
        torch.manual_seed(0)
        run(inputs).sum().backward()
        gradients.append(block[0].weight.grad)
    faults = set()
    if block[0].weight.grad is None:
        faults.add("parameter_gradients")
    if gradients[1] is None or not torch.equal(*gradients):
        faults.add("random_state")
    if len(runs) < 2:
        faults.add("no_recompute")
    if not checkpoint(block, torch.ones(16, 8)).requires_grad:
        faults.add("input_without_gradient")
    return faults


# %% answer="no_dropout" code="random_state_missed"
# Source: a likely slip: a test block without dropout
# A wrong mask cannot be seen.
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
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


# %% answer="masks_from_two_seeds" code="random_state_reported"
# Source: a likely slip: only one seed is set
# The plain block and the checkpoint draw different masks.
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
    for run in (block, lambda inputs: checkpoint(block, inputs)):
        inputs = torch.ones(16, 8, requires_grad=True)
        block.zero_grad()
        runs.clear()
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


# %% answer="other_names" code="unknown_name"
# Source: a likely slip: names of one's own
def find_faults(checkpoint):
    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    runs, gradients = [], []
    block.register_forward_pre_hook(lambda *_: runs.append(1))
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
        faults.add("not_recomputed")
    if not checkpoint(block, torch.ones(16, 8)).requires_grad:
        faults.add("input_without_gradient")
    return faults
