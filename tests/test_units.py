import pytest

from grader.units import MIB, format_bytes, format_seconds


@pytest.mark.parametrize(
    ("bytes_count", "text"),
    [
        (0, "0 bytes"),
        (512, "512 bytes"),
        (37.4 * MIB, "37.4 MiB"),
        (11_968.2 * MIB, "11,968.2 MiB"),
        (-2 * MIB, "-2.0 MiB"),
    ],
)
def test_bytes_are_written_as_mebibytes(bytes_count, text):
    assert format_bytes(bytes_count) == text


@pytest.mark.parametrize(("seconds", "text"), [(1.25, "1.25 s"), (0.0374, "37.4 ms"), (5e-6, "5 µs"), (0, "0 µs")])
def test_seconds_are_written_in_the_unit_that_fits(seconds, text):
    assert format_seconds(seconds) == text
