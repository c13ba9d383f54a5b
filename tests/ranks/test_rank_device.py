"""A rank computes on the CPU, also on a machine with a GPU."""

from grader.gpu_files import CHOICES
from grader.ranks.run import launch_ranks


def shown():
    import os

    return [os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")]


def test_a_rank_sees_no_gpu(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert launch_ranks(shown, 2, {}).returned == [[""] * len(CHOICES)] * 2
