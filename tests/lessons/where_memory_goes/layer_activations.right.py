# %% answer="by_shapes"
# Every tensor by its shape.
import math


def layer_activations(batch: int, time: int, width: int, heads: int) -> int:
    head = (batch, heads, time, width // heads)
    kept = [(batch, time, width)] * 5 + [head] * 3 + [(batch, heads, time, time)] + [(batch, time, 4 * width)] * 2
    return sum(4 * math.prod(shape) for shape in kept)


# %% answer="for_each_token"
# The numbers of one token, then all tokens; the small numbers of the norms are counted, too.
def layer_activations(batch: int, time: int, width: int, heads: int) -> int:
    token = 16 * width + heads * time + 2 * 2
    return batch * time * token * torch.finfo(torch.float32).bits // 8


# %% answer="as_float"
# MiB turned back into bytes.
def layer_activations(batch: int, time: int, width: int, heads: int) -> float:
    mib = batch * time * (64 * width + 4 * heads * time) / 2**20
    return mib * 2**20
