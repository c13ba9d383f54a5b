"""Reports of right runs of lesson 17, made without any rank."""

from __future__ import annotations

from typing import Any

import torch

from grader.judging.lessons.model_and_pipeline_parallel.blocks import Block, split_block
from grader.judging.lessons.model_and_pipeline_parallel.contexts import Ring, merged_outputs
from grader.judging.lessons.model_and_pipeline_parallel.pipelines import order_of, step_gradients
from grader.lessons.model_and_pipeline_parallel.blocks import block_cases
from grader.lessons.model_and_pipeline_parallel.contexts import context_cases
from grader.lessons.model_and_pipeline_parallel.pipeline_ranks import BACKWARD, FORWARD, RECEIVE, SEND
from grader.lessons.model_and_pipeline_parallel.pipelines import PipelineCase, pipeline_cases
from grader.observation import Observation, decode_observation, encode_observation


def sent(observation: Observation) -> Observation:
    """The observation as a judge gets it."""
    return decode_observation(encode_observation(observation))


def block_run(seed: int, **facts: Any) -> Observation:
    """What `observe_block` reports of a right answer."""
    settings, tensors = [], {}
    for number, case in enumerate(block_cases(seed)):
        block, values = Block(case, []), split_block(case)
        call = [["all_reduce", block.tensor_bytes]]
        common = {"whole_kept": 0, "building": [], "forward": call, "backward": call}
        common |= {"largest": 8, "without_gradient": [], "bytes": block.held, "own": block.held} | facts
        settings.append([common | {"shapes": block.shapes_of(share)} for share in block.shares(case.world_size)])
        tensors |= {f"{number}.{rank}.{name}": one for name, ranks in values.items() for rank, one in enumerate(ranks)}
    return sent(Observation({"settings": settings}, tensors))


def events_of(case: PipelineCase, rank: int, *, is_send_first: bool = False) -> list[list[Any]]:
    """What a rank does in 1F1B; `is_send_first` sends an output before it receives the gradient of an older one."""
    events: list[list[Any]] = []
    last, size = case.world_size - 1, 4 * case.rows
    unsent: list[list[Any]] = []
    ahead = min(last - rank, case.micro_batches)
    for name in order_of(rank, case.world_size, case.micro_batches):
        if name[0] == "F":
            events += [[RECEIVE, rank - 1, 0]] * (rank > 0) + [[FORWARD, int(name[1:]), case.rows]]
            unsent = [[SEND, rank + 1, size * case.widths[rank + 1]]] * (rank < last)
            if is_send_first or int(name[1:]) < ahead:
                events, unsent = events + unsent, []
        else:
            events += [[RECEIVE, rank + 1, 0]] * (rank < last) + unsent + [[BACKWARD, int(name[1:]), 0]]
            unsent = []
            events += [[SEND, rank - 1, size * case.widths[rank]]] * (rank > 0)
    return events


def pipeline_run(seed: int, *, is_send_first: bool = False, **facts: Any) -> Observation:
    """What `observe_pipelines` reports of a right answer."""
    settings, tensors = [], {}
    for number, case in enumerate(pipeline_cases(seed)):
        ranks = []
        for rank, gradient in enumerate(step_gradients(case)):
            most = min(case.world_size - rank, case.micro_batches)
            own = {"events": events_of(case, rank, is_send_first=is_send_first), "most": most, "kept": 0, "unread": 0}
            own |= {"weights_kept": True}
            ranks.append(own | {"calls": [], "without_gradient": 0} | facts)
            tensors[f"{number}.{rank}.gradient"] = gradient
        settings.append(ranks)
    return sent(Observation({"settings": settings}, tensors))


def context_run(seed: int, **facts: Any) -> Observation:
    """What `observe_contexts` reports of a right answer."""
    settings, tensors = [], {}
    for number, case in enumerate(context_cases(seed)):
        size, ring = case.world_size, Ring(case, [])
        ranks = []
        for rank in range(size):
            own = [[(rank + 1) % size, ring.bytes_of((rank - step) % size)] for step in range(size - 1)]
            common = {
                "sent": own,
                "unread": 0,
                "calls": [],
                "largest": 1,
                "held": 1,
            }
            ranks.append(common | facts)
        tensors |= {f"{number}.{rank}.output": one for rank, one in enumerate(merged_outputs(case))}
        settings.append(ranks)
    return sent(Observation({"settings": settings}, tensors))


def whole_attention(case: Any) -> list[torch.Tensor]:
    """Attention over the whole sequence, cut into the shares of the ranks."""
    whole = torch.nn.functional.scaled_dot_product_attention(*case.make_tensors())
    return list(whole.tensor_split(case.world_size, dim=1))
