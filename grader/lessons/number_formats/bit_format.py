"""Number formats as their counts of bits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BitFormat:
    """A floating-point format: one sign bit, exponent bits, mantissa bits.

    Attributes:
        exponent_bits: Bits of the exponent.
        mantissa_bits: Bits of the mantissa that are stored.
        has_infinity: Whether the top exponent means infinities and NaN, as in IEEE 754. Otherwise it holds numbers,
            and only the pattern of ones is NaN, as in e4m3.
        name: Its name, "" for a format without one.
    """

    exponent_bits: int
    mantissa_bits: int
    has_infinity: bool = True
    name: str = ""

    @property
    def bias(self) -> int:
        """What is subtracted from the stored exponent to get the power of two."""
        return int(2 ** (self.exponent_bits - 1)) - 1

    @property
    def pattern_count(self) -> int:
        """How many bit patterns there are."""
        return int(2 ** (1 + self.exponent_bits + self.mantissa_bits))

    def __str__(self) -> str:
        """Return its name, or its bits as sign-exponent-mantissa."""
        return self.name or f"1-{self.exponent_bits}-{self.mantissa_bits}"


FP16 = BitFormat(5, 10, name="fp16")
BF16 = BitFormat(8, 7, name="bf16")
E5M2 = BitFormat(5, 2, name="e5m2")
E4M3 = BitFormat(4, 3, has_infinity=False, name="e4m3")
