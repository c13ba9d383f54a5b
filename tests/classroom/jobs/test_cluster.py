"""A class on a Dask cluster gets the same marks, even if workers die; a cluster that cannot grade says why."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from small_class import NewRoom, fill_with_six, release_of
from small_course import LESSON, code

from grader.__main__ import main
from grader.classroom.base.errors import ClassroomError
from grader.classroom.commands.grading import grade_class
from grader.classroom.gradebook.course import open_course
from grader.classroom.gradebook.steps import RunCells
from grader.classroom.jobs import cluster as cluster_module
from grader.classroom.jobs import cluster_worker as remote
from grader.classroom.jobs.cluster import Cluster, on_cluster
from grader.classroom.jobs.cluster_worker import difference, facts, run_text
from grader.classroom.jobs.job import Job
from grader.classroom.jobs.pool import Runner
from grader.classroom.jobs.seeds import SMALLEST_SEED, classroom_secret
from grader.classroom.running.worker_process import CannotRun

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")
ADDRESS = "tcp://head:8786"


@pytest.fixture(scope="module")
def workers() -> Iterator[distributed.LocalCluster]:
    """Two workers, each with two threads and one GPU slot."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0", resources={"GPU": 1}
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def room(new_room: NewRoom) -> Path:
    room = new_room()
    with (room / "nbgrader_config.py").open("a") as settings:
        settings.write("c.RunCells.is_forked = False  # the lesson imports nothing\n")
    fill_with_six(room, seconds=2)
    return room


@pytest.fixture(scope="module")
def marks(room: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What grading on this machine gives."""
    local = Path(shutil.copytree(room, tmp_path_factory.mktemp("local") / "room"))
    grade_class(local, jobs=2, with_feedback=False)
    return (local / "marks.csv").read_bytes()


@pytest.mark.slow
def test_marks_are_those_of_this_machine_byte_for_byte(
    room: Path, marks: bytes, workers: distributed.LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remote = Path(shutil.copytree(room, tmp_path / "room"))
    command = ["autograde", str(remote), "--no-feedback", "--scheduler", workers.scheduler_address]
    assert main(command) == 0
    assert (remote / "marks.csv").read_bytes() == marks
    assert main(command) == 0
    assert "5 of 5 runs were kept from before" in capsys.readouterr().out


@pytest.mark.slow
def test_worker_that_dies_costs_nobody_anything(
    room: Path, marks: bytes, workers: distributed.LocalCluster, tmp_path: Path
) -> None:
    remote = Path(shutil.copytree(room, tmp_path / "room"))
    killed = []

    def kill_one(client: distributed.Client) -> None:
        while not killed:
            for name, keys in client.processing().items():
                if keys:
                    [pid] = client.run(os.getpid, workers=[name]).values()
                    os.kill(pid, signal.SIGKILL)
                    killed.append(name)
                    return
            time.sleep(0.05)

    with (
        distributed.Client(workers.scheduler_address, set_as_default=False) as client,
        on_cluster(workers.scheduler_address) as runner,
    ):
        killer = threading.Thread(target=kill_one, args=[client])
        killer.start()
        rows = grade_class(remote, runner=runner, with_feedback=False).rows
        killer.join()
    assert killed
    assert len(rows) == 6
    assert (remote / "marks.csv").read_bytes() == marks


@pytest.mark.slow
def test_gpu_slots_limit_what_runs_at_once(workers: distributed.LocalCluster) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[code("import time\nprint(time.time())\ntime.sleep(1)\nprint(time.time())")]
    )
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    workers.wait_for_workers(2)
    with (
        on_cluster(workers.scheduler_address, with_gpu_slots=True) as runner,
        ThreadPoolExecutor(4) as pool,
    ):
        jobs = [Job(nbformat.writes(notebook), LESSON, SMALLEST_SEED + seed) for seed in range(4)]
        runs = list(pool.map(runner.run, jobs))
    texts = ["".join(output["text"] for output in run.cells[0].outputs) for run in runs]
    spans = [[float(line) for line in text.split()] for text in texts]
    assert max(sum(begin <= moment < end for begin, end in spans) for moment, _ in spans) <= 2


@pytest.mark.slow
def test_worker_that_differs_is_refused_and_both_are_named(
    workers: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "facts", lambda: {"grader": "0ddba11", "torch": "9.9"})
    with pytest.raises(ClassroomError, match=r"is refused: grader \w+ there, 0ddba11 here, torch .* there, 9.9 here"):
        with on_cluster(workers.scheduler_address):
            raise AssertionError("unreachable")


def test_worker_looks_at_the_versions_before_each_job() -> None:
    answer = json.loads(run_text(json.dumps(Job("{}", LESSON, 1).to_json()), facts() | {"torch": "9.9"}))
    assert "refused" in answer and "9.9 here" in answer["refused"]
    assert difference(facts(), facts(), "host") == ""


def test_a_scheduler_that_does_not_answer_is_reported_within_seconds(
    room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = time.monotonic()
    assert main(["autograde", str(room), "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert time.monotonic() - begun < 20
    assert "No Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err
    assert main(["autograde", str(room), "--scheduler", "nonsense"]) == 2
    assert "No Dask scheduler answers at nonsense" in capsys.readouterr().err
    assert not (room / "grading.json").exists()


def test_missing_extra_is_named(
    room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["autograde", str(room), "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "pip install 'lean-training[cluster]'" in capsys.readouterr().err
    assert main(["autograde", str(room), "--gpu-slots"]) == 2
    assert "--scheduler ADDRESS" in capsys.readouterr().err


def test_job_carries_the_seed_of_the_lesson_and_not_the_secret(room: Path) -> None:
    secret = classroom_secret(room).decode()
    job = RunCells(config=open_course(room).config).job(release_of(room), LESSON, "ada")
    assert secret not in json.dumps(job.to_json())


class FakeFuture:
    def __init__(self, answer: object):
        self.answer = answer

    def add_done_callback(self, tell: Callable[[object], None]) -> None:
        if not isinstance(self.answer, TimeoutError):  # else it never ends
            tell(self)

    def result(self) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def release(self) -> None:
        pass


class FakeClient:
    """A cluster without machines, whose jobs end as the test says."""

    def __init__(self, *answers: object, count: int = 1, **said: object):
        self.answers = list(answers)
        self.workers = {f"tcp://w{number}": {"resources": {}} for number in range(count)}
        self.said = {"facts": facts(), "host": "node7", "device": "cpu"} | said

    def wait_for_workers(self, count: int, timeout: float) -> None:
        if not self.workers:
            raise TimeoutError

    def scheduler_info(self, n_workers: int) -> dict[str, object]:
        return {"workers": self.workers}

    def run(self, function: object, *arguments: object, workers: list[str] | None = None) -> dict[str, object]:
        return {name: self.said for name in workers or self.workers}

    def submit(self, function: object, *arguments: object, **options: object) -> FakeFuture:
        return FakeFuture(self.answers.pop(0))


def killed() -> Exception:
    return distributed.scheduler.KilledWorker("task", None, 3)


DONE = json.dumps({"execution": {"format": 1}})


@pytest.mark.parametrize(
    ("client", "with_gpu_slots", "message"),
    [
        (FakeClient(count=0), False, "has no worker. Start some"),
        (FakeClient(), True, "--resources GPU=1"),
        (FakeClient(facts={"grader": "other"}), False, "The worker on node7 is refused: grader other there"),
    ],
)
def test_cluster_that_cannot_grade_is_rejected_at_once(client: FakeClient, with_gpu_slots: bool, message: str) -> None:
    with pytest.raises(ClassroomError, match=message):
        Cluster(client, ADDRESS, with_gpu_slots=with_gpu_slots)


@pytest.mark.parametrize(("levels", "settled"), [(["landlock"], "landlock"), (["landlock", "bubblewrap"], "auto")])
def test_level_of_the_sandbox_is_that_of_the_workers(levels: list[str], settled: str) -> None:
    client = FakeClient()
    on_workers = Cluster(client, ADDRESS)
    client.run = lambda function, text: {level: {"level": level} for level in levels}
    assert on_workers.settle(Job("{}", LESSON, 1)).sandbox == settled


def test_worker_without_a_sandbox_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(Job("{}", LESSON, 1, sandbox="none").to_json())
    client = FakeClient()
    on_workers = Cluster(client, ADDRESS)
    client.run = lambda function, text: {"tcp://w0": function(text)}
    with pytest.raises(ClassroomError, match=r"cannot grade[.] The sandbox is switched off"):
        on_workers.settle(Job.from_json(json.loads(text)))
    assert "The sandbox is switched off" in json.loads(run_text(text, facts()))["refused"]


def test_job_is_sent_again_when_its_workers_died() -> None:
    job = Job("{}", LESSON, 1)
    assert Cluster(FakeClient(killed(), DONE), ADDRESS).run(job).cells == {}
    with pytest.raises(RuntimeError, match="every worker of the cluster that took this notebook died"):
        Cluster(FakeClient(killed(), killed()), ADDRESS).run(job)


def test_only_a_failing_machine_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_with(error: Exception) -> str:
        monkeypatch.setattr(remote, "run_job", lambda job: (_ for _ in ()).throw(error))
        return run_text(json.dumps(Job("{}", LESSON, 1).to_json()), facts())

    for error in (CannotRun("no kernel"), OSError(28, "No space left on device")):
        with pytest.raises(CannotRun):
            fail_with(error)
    failing = fail_with(KeyError("a fault of the grader"))
    with pytest.raises(RuntimeError, match="KeyError: 'a fault of the grader'"):
        Cluster(FakeClient(failing), ADDRESS).run(Job("{}", LESSON, 1))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (CancelledError("scheduler-connection-lost"), "was lost: scheduler-connection-lost. Start it, then grade"),
        (OSError("closed"), "the runs that are done are kept"),
        (json.dumps({"refused": "The worker on node7 is refused"}), "node7 is refused"),
    ],
)
def test_lost_cluster_stops_the_class_and_all_that_wait(answer: object, message: str) -> None:
    lost = Cluster(FakeClient(answer, TimeoutError()), ADDRESS)
    for _ in range(2):  # the second job never ends, and its thread does not wait for it
        with pytest.raises(ClassroomError, match=message):
            lost.run(Job("{}", LESSON, 1))


def test_cluster_without_workers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "NO_WORKER_SECONDS", 0)
    client = FakeClient(TimeoutError())
    lost = Cluster(client, ADDRESS)
    client.workers = {}
    with pytest.raises(ClassroomError, match="has had no worker"):
        lost.run(Job("{}", LESSON, 1))


def test_interrupted_grading_waits_for_nobody(room: Path, tmp_path: Path) -> None:
    remote = Path(shutil.copytree(room, tmp_path / "room"))
    stopped = threading.Event()

    def run(job: Job) -> None:
        if not stopped.wait(20):
            raise AssertionError("the grading did not stop its runs")
        raise ClassroomError("stopped")

    def interrupt(row: object, progress: str, changes: list[str]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade_class(remote, runner=Runner(run, 8, "cpu", stopped.set), with_feedback=False, say=interrupt)
    assert stopped.is_set()
