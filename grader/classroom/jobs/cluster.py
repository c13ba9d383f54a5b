"""Run the notebooks of a class on a Dask cluster: the same function, on other machines.

A job goes out as JSON text, and its run comes back as JSON text. The classroom's secret and the gradebook stay here.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.storage import one_line
from grader.classroom.running.execution import Execution

from .cluster_worker import describe, difference, facts, level_of, run_text
from .job import Job
from .pool import Runner

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 5
FIRST_WORKER_SECONDS = 60
NO_WORKER_SECONDS = 600  # after which a cluster without any worker is given up
LOOK_SECONDS = 2  # how often a waiting thread looks whether there is still something to wait for
IN_FLIGHT = 100  # jobs that the scheduler holds at once, whatever the number of workers, which may still grow
RETRIES = 3  # of a job whose machine failed
DEATHS = 2  # how often a job is sent again after the scheduler gave it up, since the workers that held it died


class Cluster:
    """The workers behind one scheduler."""

    def __init__(self, client: Client, address: str, *, with_gpu_slots: bool = False):
        """Look at the workers.

        Raises:
            ClassroomError: if there is none, or one that differs from this machine.
        """
        self._client = client
        self._address = address
        self._resources = {"GPU": 1} if with_gpu_slots else None
        self._facts = facts()
        self._failure: ClassroomError | None = None
        self._last_seen = time.monotonic()
        self._levels: dict[tuple[str, bool], str] = {}
        self.device = self._look_at_workers()

    def settle(self, job: Job) -> Job:
        """Return the job with the level of the sandbox that the workers give it, where they agree on one.

        Raises:
            ClassroomError: if a worker has no sandbox for it.
        """
        asked = job.sandbox, job.is_unsafe
        if asked not in self._levels:
            bare = json.dumps(dataclasses.replace(job, notebook="", support={}).to_json())
            answers = self._client.run(level_of, bare).values()
            refusal = next((worker["refused"] for worker in answers if "refused" in worker), "")
            if refusal:
                raise self._fail(refusal)
            levels = {worker["level"] for worker in answers}
            self._levels[asked] = levels.pop() if len(levels) == 1 else job.sandbox
        return dataclasses.replace(job, sandbox=self._levels[asked])

    def run(self, job: Job) -> Execution:
        """Run one job on a worker and wait for it.

        Raises:
            ClassroomError: if the cluster is lost, or a worker is refused.
            CannotRun: if no kernel started, on several tries.
            RuntimeError: if every worker that took the job died, or the grader itself failed.
        """
        from distributed.scheduler import KilledWorker

        text = json.dumps(job.to_json())
        for _ in range(DEATHS):
            try:
                answer = json.loads(self._answer(text))
            except KilledWorker:
                continue
            except (CancelledError, OSError) as error:
                message = f"The scheduler at {self._address} was lost: {one_line(str(error), 120)}"
                remedy = "Start it, then grade again: the runs that are done are kept."
                raise self._fail(f"{message}. {remedy}") from None
            if "refused" in answer:
                raise self._fail(answer["refused"])
            if "failed" in answer:
                raise RuntimeError(answer["failed"])
            return Execution.from_json(answer["execution"])
        raise RuntimeError("every worker of the cluster that took this notebook died; grade it on this machine alone")

    def stop(self) -> None:
        """Fail every run that is still waited for."""
        self._fail("The grading was stopped.")

    def _answer(self, text: str) -> str:
        submit = self._client.submit
        future = submit(run_text, text, self._facts, pure=False, retries=RETRIES, resources=self._resources)
        is_done = threading.Event()  # distributed's own timed wait loses an answer that comes at its very end
        future.add_done_callback(lambda _: is_done.set())
        try:
            while True:
                if self._failure is not None:
                    raise self._failure
                if is_done.wait(LOOK_SECONDS):
                    return str(future.result())
                self._require_workers()
        finally:
            future.release()

    def _require_workers(self) -> None:
        if self._client.scheduler_info(n_workers=-1)["workers"]:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > NO_WORKER_SECONDS:
            raise self._fail(
                f"The scheduler at {self._address} has had no worker for {NO_WORKER_SECONDS // 60} minutes. "
                "Start workers, then grade again: the runs that are done are kept."
            )

    def _fail(self, message: str) -> ClassroomError:
        self._failure = self._failure or ClassroomError(message)
        return self._failure

    def _look_at_workers(self) -> str:
        """Return the devices of the workers."""
        start = f"`dask worker {self._address}`"
        with contextlib.suppress(TimeoutError):
            self._client.wait_for_workers(1, timeout=FIRST_WORKER_SECONDS)
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        if not workers:
            raise ClassroomError(f"The scheduler at {self._address} has no worker. Start some, e.g. {start}.")
        if self._resources:
            workers = {name: worker for name, worker in workers.items() if worker["resources"].get("GPU")}
        if not workers:
            raise ClassroomError(
                f"No worker of {self._address} offers a GPU slot. Start them with {start} --resources GPU=1."
            )
        try:
            answers = self._client.run(describe, workers=list(workers))
        except Exception as error:
            raise ClassroomError(
                f"The workers of {self._address} cannot grade: {type(error).__name__}: {error}. "
                "Install this version of the course on them."
            ) from None
        for worker in answers.values():
            refusal = difference(self._facts, worker["facts"], worker["host"])
            if refusal:
                raise ClassroomError(refusal)
        return "; ".join(sorted({worker["device"] for worker in answers.values()}))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep tracebacks of a lost connection off the screen: one sentence reports the failure."""
    levels = {logging.getLogger(name): logging.getLogger(name).level for name in ("distributed", "distributed.client")}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


@contextlib.contextmanager
def on_cluster(address: str, *, with_gpu_slots: bool = False) -> Iterator[Runner]:
    """Connect to a scheduler and return the runner of its workers.

    Args:
        address: The scheduler's, e.g. "tcp://login:8786".
        with_gpu_slots: Whether each job takes a slot of the resource "GPU".

    Raises:
        ClassroomError: if the extra is missing, nobody answers, or a worker is refused.
    """
    client = _connected(address)
    with _quiet(), client:
        cluster = Cluster(client, address, with_gpu_slots=with_gpu_slots)
        yield Runner(cluster.run, IN_FLIGHT, cluster.device, cluster.stop, cluster.settle)


def _connected(address: str) -> Client:
    try:
        from distributed import Client, Security
        from distributed.comm import connect
    except ImportError:
        message = "--scheduler needs the package distributed: pip install 'lean-training[cluster]'"
        raise ClassroomError(message) from None

    async def knock() -> None:
        arguments = Security().get_connection_args("client")
        await (await connect(address, timeout=CONNECT_SECONDS, **arguments)).close()

    try:
        asyncio.run(knock())  # a Client that finds nobody complains later, too
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:
        raise ClassroomError(
            f"No Dask scheduler answers at {address} ({error}). Start one with `dask scheduler`, and name its address "
            "as it prints it, e.g. tcp://login:8786."
        ) from None
