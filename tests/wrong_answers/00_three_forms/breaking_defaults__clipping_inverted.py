# Source: torch.nn.utils.clip_grad_norm_ read as scaling every gradient up to norm 1
# The comparison points the wrong way.
def breaking_defaults(updates: int, largest_gradient_norm: float) -> dict[str, bool]:
    return {"sampling": updates > 1, "clipping": largest_gradient_norm < 1.0, "schedule": updates > 1}
