"""Rings that tests run on threads: right ones, and those that a recipe describes."""

from __future__ import annotations

import torch
from rank_simulation import observe

from grader.judging.lessons.collectives.ring_recipes import RIGHT, RingRecipe


def ring(recipe: RingRecipe = RIGHT, finish=lambda total, ranks: total):
    """Return the function that a recipe stands for."""

    def all_reduce(tensor, rank, world_size, send, receive):
        total = tensor.clone()
        chunks = list(total.view(-1).tensor_split(world_size))
        loops = [(recipe.first_send, recipe.first_put, recipe.first_adds, recipe.first_steps)]
        if recipe.second_steps is not None:
            loops.append((recipe.second_send, recipe.second_put, recipe.second_adds, recipe.second_steps))
        for out, into, adds, more in loops:
            for step in range(world_size - 1 + more if world_size > 1 else 0):
                send(chunks[(rank + out - recipe.stride * step) % world_size], (rank + 1) % world_size)
                received, place = receive((rank - 1) % world_size), (rank + into - recipe.stride * step) % world_size
                chunks[place] = chunks[place] + received if adds and len(received) == len(chunks[place]) else received
        return finish(torch.cat(chunks)[: tensor.numel()].reshape(-1), world_size)

    return all_reduce


def shaped(collective):
    """Return the same in the shape of its input; numbers that do not fit are left out or zero."""

    def all_reduce(tensor, rank, world_size, send, receive):
        flat = collective(tensor, rank, world_size, send, receive)
        return torch.nn.functional.pad(flat, (0, tensor.numel() - flat.numel())).view(tensor.shape)

    return all_reduce


def judged(judge, collective, cases, seed: int):
    return judge(observe(shaped(collective), cases(seed)), seed)
