"""What the ranks of a run said to each other: messages, bytes and rounds, counted from the real calls."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

SEND, RECEIVE = "send", "receive"

Event = tuple[str, int, int]


@dataclass(frozen=True)
class Traffic:
    """What one rank sent and received, in order.

    Attributes:
        events: One for each call: "send" or "receive", the other rank, and the bytes of the tensor; or the name of a
            collective operation such as "all_reduce", -1, and the bytes of its tensors on this rank.
        unread_messages: How many messages to this rank were still unread when the function ended.
    """

    events: tuple[Event, ...] = ()
    unread_messages: int = 0

    @property
    def sent_messages(self) -> int:
        """Return how many messages this rank sent."""
        return sum(kind == SEND for kind, _, _ in self.events)

    @property
    def sent_bytes(self) -> int:
        """Return the bytes of the tensors that this rank sent."""
        return sum(byte_count for kind, _, byte_count in self.events if kind == SEND)

    @property
    def received_bytes(self) -> int:
        """Return the bytes of the tensors that this rank received."""
        return sum(byte_count for kind, _, byte_count in self.events if kind == RECEIVE)

    @property
    def collectives(self) -> Counter[str]:
        """Return how often this rank called each collective operation."""
        return Counter(kind for kind, _, _ in self.events if kind not in (SEND, RECEIVE))


def count_rounds(traffic: Sequence[Traffic]) -> int:
    """Count the rounds of a run: how many messages had to wait for each other.

    In one round a rank can send one message and receive one, and all ranks do so side by side. So a root that hears of
    seven others needs seven rounds, and a ring in which each passes something on needs one for each hop.

    Args:
        traffic: What each rank did, by rank.

    Returns:
        The rounds of the whole run; 0 where nothing was sent.

    Raises:
        ValueError: A rank received what nobody sent.
    """
    return round(predict_seconds(traffic, latency_seconds=1.0, bytes_per_second=float("inf")))


def predict_seconds(traffic: Sequence[Traffic], *, latency_seconds: float, bytes_per_second: float) -> float:
    """Return what a run's messages take by the latency and bandwidth model, in seconds.

    A message of `n` bytes takes `latency_seconds + n / bytes_per_second`. A rank sends one message at a time and
    receives one at a time; it may do both at once. Computation takes no time.
    Source: Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH, 2005.

    Args:
        traffic: What each rank did, by rank. Collective operations of a library are not in the model.
        latency_seconds: Time of an empty message.
        bytes_per_second: Bandwidth of each rank, in each direction.

    Returns:
        Seconds until the last message has arrived.

    Raises:
        ValueError: A rank received what nobody sent.
    """
    ports = [_Ports(deque(one.events)) for one in traffic]
    under_way: dict[tuple[int, int], deque[float]] = {}
    while any(port.events for port in ports):
        if not any(
            [_advance(rank, ports[rank], under_way, latency_seconds, bytes_per_second) for rank in range(len(ports))]
        ):
            waiting = next(rank for rank, port in enumerate(ports) if port.events)
            raise ValueError(
                f"rank {waiting} receives a message of rank {ports[waiting].events[0][1]} that was never sent"
            )
    return max((max(port.clock, port.sends_until) for port in ports), default=0.0)


@dataclass
class _Ports:
    """A rank in the model: what it has still to do, and until when it computes, sends and receives."""

    events: deque[Event]
    clock: float = 0.0
    sends_until: float = 0.0
    receives_until: float = 0.0


def _advance(
    rank: int,
    port: _Ports,
    under_way: dict[tuple[int, int], deque[float]],
    latency_seconds: float,
    bytes_per_second: float,
) -> bool:
    """Take a rank as far as the messages under way allow; say whether it moved."""
    has_moved = False
    while port.events:
        kind, peer, byte_count = port.events[0]
        cost = latency_seconds + byte_count / bytes_per_second
        if kind == SEND:
            port.sends_until = max(port.clock, port.sends_until) + cost
            under_way.setdefault((rank, peer), deque()).append(port.sends_until)
        elif kind == RECEIVE:
            arrivals = under_way.get((peer, rank))
            if not arrivals:
                return has_moved
            port.receives_until = max(arrivals.popleft(), port.receives_until + cost)
            port.clock = max(port.clock, port.receives_until)
        port.events.popleft()
        has_moved = True
    return has_moved
