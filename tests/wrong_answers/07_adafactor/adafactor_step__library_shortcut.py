# Source: a likely shortcut: transformers' Adafactor for each group
# The library's optimizer takes the step.
def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        made = optimizer.__dict__.setdefault("made", {})
        if id(group) not in made:
            options = {
                name: group[name] for name in ("decay_rate", "clip_threshold", "scale_parameter", "weight_decay")
            }
            made[id(group)] = Adafactor(
                group["params"], lr=group["lr"], eps=(group["eps"], 1e-3), relative_step=False, **options
            )
        made[id(group)].param_groups[0]["lr"] = group["lr"]
        made[id(group)].step()
