"""The CUDA kernels of bitsandbytes 0.50.2 in torch operators on the CPU, number by number.

Written after csrc/kernels.cu of bitsandbytes: kOptimizerStatic8bit2StateBlockwise, kOptimizer32bit2State,
kQuantizeBlockwise. Fast intrinsics (__powf, __fdividef) are exact here.
"""

import math

import torch

BLOCK = 256


def _blocks(flat, block=BLOCK):
    return torch.nn.functional.pad(flat, (0, -flat.numel() % block)).view(-1, block)


def quantize_2d(x, code, signed):
    """Binary search of quantize_2D (and of dQuantize<0>): codes as int64."""
    pivot = torch.full_like(x, 127, dtype=torch.long)
    upper_pivot = torch.full_like(pivot, 255)
    lower_pivot = torch.zeros_like(pivot)
    lower = torch.full_like(x, -1.0 if signed else 0.0)
    upper = torch.ones_like(x)
    val = code[pivot]
    step = 64
    while step > 0:
        above = x > val
        lower_pivot = torch.where(above, pivot, lower_pivot)
        lower = torch.where(above, val, lower)
        upper_pivot = torch.where(above, upper_pivot, pivot)
        upper = torch.where(above, upper, val)
        pivot = torch.where(above, pivot + step, pivot - step)
        val = code[pivot]
        step >>= 1
    above = x > val
    to_upper = above & (x > (upper + val) * 0.5)
    to_lower = ~above & (x < (lower + val) * 0.5)
    return torch.where(to_upper, upper_pivot, torch.where(to_lower, lower_pivot, pivot))


def adam8bit_blockwise(
    g, p, state1, state2, beta1, beta2, eps, step, lr, qmap1, qmap2, absmax1, absmax2, weight_decay, gnorm_scale=1.0
):
    n = p.numel()
    gb = _blocks(g.reshape(-1).float()) * gnorm_scale
    c1 = torch.nn.functional.pad(state1.reshape(-1), (0, -n % BLOCK), value=128).view(-1, BLOCK).long()
    c2 = _blocks(state2.reshape(-1)).long()
    good = torch.isfinite(gb)
    s2 = qmap2[c2] * absmax2[:, None]
    s2 = s2 * beta2 + (1.0 - beta2) * gb * gb
    s1 = qmap1[c1] * absmax1[:, None]
    s1 = s1 * beta1 + (1.0 - beta1) * gb
    s1, s2 = torch.where(good, s1, 0.0), torch.where(good, s2, 0.0)
    max1, max2 = s1.abs().amax(1), s2.abs().amax(1)
    correction1 = 1.0 - beta1**step
    correction2 = math.sqrt(1.0 - beta2**step)
    step_size = -lr * correction2 / correction1
    pb = _blocks(p.detach().reshape(-1).float())
    new_p = pb + step_size * (s1 / (s2.sqrt() + correction2 * eps))
    if weight_decay > 0:
        new_p = new_p * (1.0 - lr * weight_decay)
    new_p = torch.where(good, new_p, pb)
    p.data.copy_(new_p.reshape(-1)[:n].view(p.shape))
    absmax1.copy_(max1)
    absmax2.copy_(max2)
    q1 = quantize_2d(s1 / max1[:, None], qmap1, True)
    q2 = quantize_2d(s2 / max2[:, None], qmap2, False)
    wrong = torch.signbit(qmap1[q1]) != torch.signbit(s1)
    q1 = torch.where(wrong, torch.where(s1 > 0, q1 + 1, q1 - 1), q1) % 256
    state1.copy_(q1.reshape(-1)[:n].view(state1.shape).to(torch.uint8))
    state2.copy_(q2.reshape(-1)[:n].view(state2.shape).to(torch.uint8))


def adam32bit(g, p, state1, state2, beta1, beta2, eps, weight_decay, step, lr, gnorm_scale=1.0):
    gv = g.float() * gnorm_scale
    correction1 = 1.0 - beta1**step
    correction2 = math.sqrt(1.0 - beta2**step)
    step_size = -lr * correction2 / correction1
    state1.mul_(beta1).add_(gv, alpha=1 - beta1)
    state2.mul_(beta2).add_((1 - beta2) * (gv * gv))
    new_p = p.data.float() + step_size * (state1 / (state2.sqrt() + eps * correction2))
    if weight_decay > 0:
        new_p = new_p * (1 - lr * weight_decay)
    p.data.copy_(new_p)


def quantize_blockwise(a, code, blocksize):
    flat = a.reshape(-1).float()
    b = _blocks(flat, blocksize)
    absmax = b.abs().amax(1)
    scaled = b * (1.0 / absmax)[:, None]
    q = quantize_2d(scaled, code, True)
    return q.reshape(-1)[: flat.numel()].view(a.shape).to(torch.uint8), absmax
