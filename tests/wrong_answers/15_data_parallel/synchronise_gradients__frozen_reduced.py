# Source: one flat tensor of all parameters
# The flat tensor holds zeros for frozen parameters, and they are sent too.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    waiting = []
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]

    def average(parameter):
        waiting.append(parameter)
        if len(waiting) == len(trained):
            gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in model.parameters()]
            flat = torch.cat([gradient.flatten() for gradient in gradients]) / world_size
            dist.all_reduce(flat)
            parts = flat.split([gradient.numel() for gradient in gradients])
            for p, part in zip(model.parameters(), parts):
                if p.grad is not None:
                    p.grad.copy_(part.view_as(p))
            waiting.clear()

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
