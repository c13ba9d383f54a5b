# Right answers to make_wsd.

# %% answer="class_by_hand"
class Phases:
    def __init__(self, optimizer, warm_up, stable, decay, done):
        self.optimizer, self.plan, self.count = optimizer, (warm_up, stable, decay), done
        self.peaks = [group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups]
        self.set()

    def set(self):
        warm_up, stable, decay = self.plan
        falling = max(self.count - warm_up - stable, 0)
        factor = min(self.count / warm_up, 1) * max(1 - falling / decay, 0)
        for group, peak in zip(self.optimizer.param_groups, self.peaks, strict=True):
            group["lr"] = peak * factor

    def step(self):
        self.count += 1
        self.set()


def make_wsd(optimizer, warm_up, stable, decay, done=0):
    return Phases(optimizer, warm_up, stable, decay, done)


# %% answer="offset_in_the_factor"
def make_wsd(optimizer, warm_up, stable, decay, done=0):
    def factor(since):
        update = since + done
        return max(0.0, min(update / warm_up, 1.0, (warm_up + stable + decay - update) / decay))

    for group in optimizer.param_groups:
        group["lr"] = group.setdefault("initial_lr", group["lr"])
    return LambdaLR(optimizer, factor)


# %% answer="library_schedule"
def make_wsd(optimizer, warm_up, stable, decay, done=0):
    from transformers import get_wsd_schedule

    return get_wsd_schedule(
        optimizer,
        num_warmup_steps=warm_up,
        num_stable_steps=stable,
        num_decay_steps=decay,
        warmup_type="linear",
        decay_type="linear",
        last_epoch=done - 1,
    )
