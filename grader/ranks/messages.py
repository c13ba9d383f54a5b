"""Send and receive between ranks, and the log of it."""

from __future__ import annotations

import datetime
import time

import torch
import torch.distributed as dist

from grader.ranks.traffic import RECEIVE, SEND, Event, Traffic

RECEIVE_SECONDS = 10.0
_MOST_DIMENSIONS = 6
_DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
)


class Messages:
    """Point-to-point messages of one rank over the default process group, all of them logged.

    A message is a tensor of up to six dimensions. Its shape and its number format travel in front of it, and are not
    counted. Messages between two ranks arrive in the order in which they were sent.

    Args:
        receive_seconds: How long `receive` waits before it raises TimeoutError.
    """

    def __init__(self, receive_seconds: float = RECEIVE_SECONDS):
        self.rank, self.world_size = dist.get_rank(), dist.get_world_size()
        self._limit = datetime.timedelta(seconds=receive_seconds)
        self._events: list[Event] = []
        self._under_way: list[tuple[dist.Work | None, torch.Tensor]] = []

    def send(self, tensor: torch.Tensor, destination: int) -> None:
        """Send a copy of a tensor to another rank, and do not wait until it has arrived.

        Args:
            tensor: At most six dimensions; later changes to it do not change the message.
            destination: Another rank.
        """
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"send takes a tensor and a rank; its first argument is of type {type(tensor).__name__}")
        if tensor.dim() > _MOST_DIMENSIONS or tensor.dtype not in _DTYPES:
            raise ValueError(f"send cannot take a tensor of {tensor.dim()} dimensions with {tensor.dtype}")
        self._require_other_rank(destination, "send")
        payload = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        header = torch.full((_MOST_DIMENSIONS + 2,), -1, dtype=torch.int64)
        header[:2] = torch.tensor([_DTYPES.index(payload.dtype), payload.dim()])
        header[2 : 2 + payload.dim()] = torch.tensor(payload.shape, dtype=torch.int64)
        self._post(header, destination)
        if payload.numel():
            self._post(payload.view(torch.uint8) if payload.dim() else payload.view(1).view(torch.uint8), destination)
        self._events.append((SEND, destination, payload.nbytes))

    def receive(self, source: int) -> torch.Tensor:
        """Wait for the next message of another rank.

        Args:
            source: Another rank.

        Returns:
            The tensor that it sent, on the CPU.

        Raises:
            TimeoutError: Nothing came.
            ConnectionError: The other rank has ended.
        """
        self._require_other_rank(source, "receive")
        tensor = self._take(source)
        self._events.append((RECEIVE, source, tensor.nbytes))
        return tensor

    def settle(self) -> Traffic:
        """End a piece of work: take in what was sent to this rank and not received, and return what was logged.

        Every rank has to call it. The log begins again.
        """
        sent, received = torch.zeros(2, self.world_size, dtype=torch.int64)
        for kind, peer, _ in self._events:
            (sent if kind == SEND else received)[peer] += 1
        all_sent = [torch.zeros_like(sent) for _ in range(self.world_size)]
        dist.all_gather(all_sent, sent)
        unread = 0
        for source in range(self.world_size):
            for _ in range(int(all_sent[source][self.rank] - received[source])):
                self._take(source)
                unread += 1
        for work, _ in self._under_way:
            if work is not None:
                work.wait()
        events, self._events, self._under_way = tuple(self._events), [], []
        return Traffic(events, unread)

    def _post(self, tensor: torch.Tensor, destination: int) -> None:
        self._under_way.append((dist.isend(tensor, destination), tensor))

    def _take(self, source: int) -> torch.Tensor:
        header = torch.empty(_MOST_DIMENSIONS + 2, dtype=torch.int64)
        self._wait(header, source)
        dtype, dimensions, *shape = header.tolist()
        tensor = torch.empty(shape[:dimensions], dtype=_DTYPES[dtype])
        if tensor.numel():
            buffer = torch.empty(tensor.nbytes, dtype=torch.uint8)
            self._wait(buffer, source)
            tensor = buffer.view(_DTYPES[dtype]).view(shape[:dimensions])
        return tensor

    def _wait(self, buffer: torch.Tensor, source: int) -> None:
        started = time.monotonic()
        try:
            work = dist.irecv(buffer, source)
            if work is not None:
                work.wait(self._limit)
        except RuntimeError:  # gloo's error names addresses and ports, not the ranks
            waited = time.monotonic() - started
            if waited < self._limit.total_seconds():
                raise ConnectionError(f"rank {source} ended before it sent what rank {self.rank} waited for") from None
            raise TimeoutError(f"no message of rank {source} came to rank {self.rank} in {waited:.0f} s") from None

    def _require_other_rank(self, other: int, call: str) -> None:
        if isinstance(other, bool) or not isinstance(other, int):
            raise TypeError(f"{call} takes the number of a rank; it was given {type(other).__name__}")
        if not 0 <= other < self.world_size or other == self.rank:
            place = "itself" if other == self.rank else f"rank {other}"
            raise ValueError(
                f"{call} on rank {self.rank} names {place}: the other ranks are 0 to {self.world_size - 1}"
            )
