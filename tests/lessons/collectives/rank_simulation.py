"""Runs a collective on threads instead of processes, and makes the observation that its check would make."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict

import torch

from grader.observation import Observation

WAIT_SECONDS = 5


def observe(collective, cases, **facts) -> Observation:
    settings, tensors = [], {}
    for number, case in enumerate(cases):
        ranks = run(collective, case.inputs())
        for rank, seen in enumerate(ranks):
            tensors[f"{number}.{rank}"] = seen.pop("returned")
        settings.append(ranks)
    return Observation({"settings": settings, **facts}, tensors)


def run(collective, inputs) -> list[dict]:
    world_size = len(inputs)
    boxes: dict = defaultdict(queue.Queue)
    for source in range(world_size):
        for destination in range(world_size):
            boxes[source, destination]
    seen: list[dict] = [{} for _ in range(world_size)]
    threads = [
        threading.Thread(target=_rank, args=(collective, rank, inputs, boxes, seen)) for rank in range(world_size)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rank, facts in enumerate(seen):
        facts["unread_messages"] = sum(boxes[source, rank].qsize() for source in range(world_size))
    return seen


def _rank(collective, rank, inputs, boxes, seen) -> None:
    tensor, events, first_numbers = inputs[rank].clone(), [], []

    def send(value, destination):
        boxes[rank, destination].put(value.clone())
        events.append(["send", destination, value.nbytes])
        first_numbers.append(float(value.flatten()[0]) if value.numel() else None)

    def receive(source):
        value = boxes[source, rank].get(timeout=WAIT_SECONDS)
        events.append(["receive", source, value.nbytes])
        return value

    with torch.no_grad():
        returned = collective(tensor, rank, len(inputs), send, receive)
    seen[rank] |= {
        "returned": returned,
        "is_input_kept": torch.equal(tensor, inputs[rank]),
        "events": events,
        "collectives": [],
        "first_numbers": first_numbers,
    }
