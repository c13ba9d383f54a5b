# Source: AdamW of PyTorch, whatever make_optimizer makes
# Another optimizer updates.
def step_in_backward(model, make_optimizer) -> None:
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = torch.optim.AdamW([parameter], foreach=False)

            def update(_, optimizer=optimizer):
                optimizer.step()
                optimizer.zero_grad()

            parameter.register_post_accumulate_grad_hook(update)
