"""Run the submissions of a class in parallel; reuse runs that were kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from nbformat.notebooknode import NotebookNode

from grader.classroom.handed_in.intake import Submission
from grader.classroom.running.execution import NOT_RUN, Execution

from .job import Job, run_job, settle
from .results import Results
from .surroundings import local_device

RunJob = Callable[[Job], Execution]
MakeJob = Callable[[NotebookNode, str, str], Job]  # of a rebuilt notebook, its lesson, and its student


@dataclass(frozen=True)
class Runner:
    """Where the notebooks run.

    Attributes:
        run: Runs one job.
        jobs: How many run at once.
        device: What they run on.
        stop: Lets nobody wait for a run any longer; those that run here come to their end.
        settle: Says of a job what the machine decides, the level of its sandbox, where that is known beforehand.
    """

    run: RunJob
    jobs: int
    device: str
    stop: Callable[[], None] = lambda: None
    settle: Callable[[Job], Job] = lambda job: job


def here(jobs: int) -> Runner:
    """Return the runner of this machine, for this many jobs at once."""
    return Runner(run_job, max(1, jobs), local_device(), settle=settle)


@dataclass(frozen=True)
class Prepared:
    """A submission that is ready to run.

    Attributes:
        submission: What was handed in.
        notebook: The rebuilt notebook; None if there is none to run.
        error: What went wrong while it was rebuilt, or None.
    """

    submission: Submission
    notebook: NotebookNode | None = None
    error: Exception | None = None


@dataclass(frozen=True)
class Run:
    """What a submission did, and where that comes from.

    Attributes:
        execution: What its notebook did.
        is_reused: Whether the run was kept from an earlier grading.
    """

    execution: Execution
    is_reused: bool = False


def run_all(
    submissions: Iterable[Submission],
    prepare: Callable[[Submission], Prepared],
    make_job: MakeJob,
    runner: Runner,
    results: Results,
) -> Iterator[tuple[Prepared, Future[Run]]]:
    """Run the submissions in parallel and yield each when its run ends; only the caller writes to the gradebook.

    A submission is rebuilt shortly before its run, so that a large class needs no more memory than a small one.
    Submissions that are equal once they are rebuilt, as untouched ones are, share one run.

    Args:
        submissions: What was handed in.
        prepare: Rebuilds one of them.
        make_job: Describes the run of a rebuilt notebook of a lesson.
        runner: Where the notebooks run.
        results: The runs that are kept.

    Yields:
        Each submission with its run, which raises what went wrong.
    """
    with ThreadPoolExecutor(max_workers=runner.jobs) as pool:
        flights = _Flights(pool, runner, make_job, results)
        try:
            for submission in submissions:
                flights.add(prepare(submission))
                is_full = len(flights.running) > 2 * runner.jobs  # one waits for each that runs
                yield from flights.ended(None if is_full else 0)
            while flights.running:
                yield from flights.ended(None)
        except BaseException:
            runner.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


class _Flights:
    """The runs that are under way, each with the submissions that share it."""

    def __init__(self, pool: ThreadPoolExecutor, runner: Runner, make_job: MakeJob, results: Results):
        self.running: dict[Future[Run], list[Prepared]] = {}
        self._by_key: dict[str, Future[Run]] = {}
        self._pool = pool
        self._runner = runner
        self._make_job = make_job
        self._results = results

    def add(self, prepared: Prepared) -> None:
        """Begin the run of a submission, unless an equal one is under way or kept."""
        self.running.setdefault(self._run_of(prepared), []).append(prepared)

    def ended(self, seconds: float | None) -> Iterator[tuple[Prepared, Future[Run]]]:
        """Wait for one run to end, at most `seconds`, and yield the submissions of all that have ended."""
        ended, _ = wait(self.running, seconds, FIRST_COMPLETED)
        submissions = [(prepared, future) for future in ended for prepared in self.running.pop(future)]
        self._by_key = {key: future for key, future in self._by_key.items() if future in self.running}
        yield from submissions

    def _run_of(self, prepared: Prepared) -> Future[Run]:
        settled: Future[Run] = Future()
        if prepared.error is not None:
            settled.set_exception(prepared.error)
            return settled
        if prepared.notebook is None:
            settled.set_result(Run(Execution(end=NOT_RUN, reason=prepared.submission.unreadable)))
            return settled
        job = self._runner.settle(
            self._make_job(prepared.notebook, prepared.submission.lesson, prepared.submission.student)
        )
        key = self._results.key(job)
        if key in self._by_key:
            return self._by_key[key]
        kept = self._results.read(job.lesson, key)
        if kept is not None:
            settled.set_result(Run(kept, self._results.is_from_before(key)))
            return settled
        self._by_key[key] = self._pool.submit(self._run_and_keep, job, key)
        return self._by_key[key]

    def _run_and_keep(self, job: Job, key: str) -> Run:
        """Run a job and keep what it did at once: whatever happens to the grading, this run is done."""
        execution = self._runner.run(job)
        self._results.write(key, execution)
        return Run(execution)
