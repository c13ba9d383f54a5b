"""Draw the exam on a lesson: a private variant of its exercises, from a template in the lesson's hidden room."""

from __future__ import annotations

import hashlib
import hmac
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.variants import count_variants, options_of

from .answers import FRESH_SEED, job_of
from .errors import AuthoringError, Problem
from .forks import ForkPool, JobRun
from .lesson import Lesson, read_lesson
from .notebook import stub_source
from .release import select_sources

TEMPLATES = Path("grader/judging/lessons")
TEMPLATE = "exam.py.jinja"
FIRST_NUMBER = 50  # the exam on lesson 02 is assignment 52
LEAST_KEY_BYTES = 16
TRIED = 3  # variants that `validate` runs
PUBLIC = re.compile(r'^# %% public="(\w+)"\n', re.MULTILINE)


@dataclass(frozen=True)
class Exam:
    """The exam on one lesson, as one key draws it.

    Attributes:
        lesson: The lesson that it examines.
        stem: The name of the assignment.
        variant: The number of the variant.
        variants: How many there are.
        text: Its solved source.
        public_answers: For each exercise the lesson's public solution, adapted to the names of the exam.
    """

    lesson: str
    stem: str
    variant: int
    variants: int
    text: str
    public_answers: Mapping[str, str] = field(hash=False)

    def __str__(self) -> str:
        """Name the assignment and the variant."""
        return f"{self.stem}, variant {self.variant} of {self.variants}"

    def write(self, folder: Path) -> Path:
        """Write the source into a folder and return its path."""
        path = folder / f"{self.stem}.py"
        path.write_text(self.text, encoding="utf-8")
        return path


@dataclass(frozen=True)
class Scores:
    """What answers to an exam earn.

    Attributes:
        points: All points.
        solved: Points of its own solution.
        untouched: Points of a notebook that nobody touched.
        public: Points of the lesson's public solution.
    """

    points: int
    solved: int
    untouched: int
    public: int

    @property
    def are_fair(self) -> bool:
        """Whether the own solution earns all, an untouched notebook nothing, and the public one at most half."""
        return self.solved == self.points and not self.untouched and 2 * self.public <= self.points

    def __str__(self) -> str:
        """Say what each earns."""
        return (
            f"its own solution earns {self.solved} of {self.points} points, an untouched notebook {self.untouched}, "
            f"the public solution {self.public}"
        )


def read_key(path: Path) -> bytes:
    """Read the key of an exam.

    Raises:
        AuthoringError: if the file is missing or too short.
    """
    remedy = f'Make a new key: python -c "import secrets; print(secrets.token_hex())" > {path}'
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise AuthoringError(f"{path}: {error.strerror}. {remedy}") from None
    if len(key) < LEAST_KEY_BYTES:
        raise AuthoringError(
            f"{path}: a key of {len(key)} bytes can be guessed; {LEAST_KEY_BYTES} are needed. {remedy}"
        )
    return key


def lessons_with_exam(root: Path) -> list[str]:
    """Return the lessons that have a template."""
    topics = {path.parent.name for path in (root / TEMPLATES).glob(f"*/{TEMPLATE}")}
    return [source.stem for source in select_sources(root) if source.stem[3:] in topics]


def draw_exam(root: Path, lesson: str, key: bytes) -> Exam:
    """Draw the variant that a key chooses.

    Args:
        root: The repository.
        lesson: The name of a lesson that has a template.
        key: The key; the same key draws the same exam.
    """
    topic, variants = lesson[3:], count_variants(lesson[3:])
    digest = hmac.new(key, f"exam {topic}".encode(), hashlib.sha256).digest()
    return write_exam(root, lesson, int.from_bytes(digest, "big") % variants)


def write_exam(root: Path, lesson: str, variant: int) -> Exam:
    """Write one variant from the template.

    Args:
        root: The repository.
        lesson: The name of a lesson that has a template.
        variant: Its number, from 0.
    """
    import jinja2

    topic, number = lesson[3:], FIRST_NUMBER + int(lesson[:2])
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(root / TEMPLATES / topic),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    text = environment.get_template(TEMPLATE).render(number=number, variant=variant, **options_of(topic, variant))
    source, *public = PUBLIC.split(text)
    answers = dict(zip(public[::2], (answer.strip() + "\n" for answer in public[1::2]), strict=True))
    return Exam(lesson, f"{number}_exam_{topic}", variant, count_variants(topic), source.rstrip() + "\n", answers)


def exam_problems(root: Path, lesson: str) -> list[Problem]:
    """Run a few variants of the exam on a lesson, spread over all, and print what answers to them earn.

    Args:
        root: The repository.
        lesson: The name of a lesson.

    Returns:
        The variants at fault; none for a lesson without an exam.
    """
    if lesson not in lessons_with_exam(root):
        return []
    variants = count_variants(lesson[3:])
    exams = [write_exam(root, lesson, place * (variants - 1) // (TRIED - 1)) for place in range(TRIED)]
    print("\n  exam", flush=True)
    problems = []
    for exam, scores in zip(exams, score_exams(exams), strict=True):
        print(f"    {exam}: {scores}", flush=True)
        if not scores.are_fair:
            template = root / TEMPLATES / lesson[3:] / TEMPLATE
            remedy = "It should earn all, nothing, and at most half"
            problems.append(Problem(template, 0, f"{exam}: {scores}", remedy))
    return problems


def score_exams(exams: Sequence[Exam]) -> list[Scores]:
    """Run each exam's own solution, its stubs and the public solutions against its checks, each on two seeds."""
    lessons = [_read(exam) for exam in exams]
    code = [cell.source for lesson in lessons for cell in lesson.cells if cell.kind == "code"]
    with ForkPool(2, code) as pool:
        return [_scores(pool, exam, lesson) for exam, lesson in zip(exams, lessons, strict=True)]


def _read(exam: Exam) -> Lesson:
    with tempfile.TemporaryDirectory() as folder:
        return read_lesson(exam.write(Path(folder)))


def _scores(pool: ForkPool, exam: Exam, lesson: Lesson) -> Scores:
    """Add up the points of the checks that passed on every seed."""
    solved = {name: lesson.cell_of(name).source for name in lesson.exercises}
    stubs = {name: stub_source(source) for name, source in solved.items()}

    def earned(answers: Mapping[str, str]) -> int:
        jobs = [job_of(lesson, name, answers[name], seed) for name in answers for seed in (None, FRESH_SEED)]
        passed = [_passed(run) for run in pool.run_all(jobs)]
        right = {name for name, *both in zip(answers, passed[::2], passed[1::2], strict=True) if all(both)}
        return sum(check.points for check in lesson.checks if check.exercise in right)

    points = sum(check.points for check in lesson.checks)
    return Scores(points, earned(solved), earned(stubs), earned(exam.public_answers))


def _passed(run: JobRun) -> bool:
    return run.ended == "done" and not any(cell.error_name or cell.stderr for cell in run.cells)
