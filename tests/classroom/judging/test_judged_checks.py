"""Checks of the course are judged outside of the kernel: dishonest notebooks earn nothing, honest ones are free."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import nbformat
import pytest
from judged_lesson import ANSWERS, POINTS, SEED, WHOLE_BATCH, build_master, executed, graded, late, rebuilt

from grader.channel import MEDIA_TYPE
from grader.classroom.base.errors import ClassroomError
from grader.classroom.commands.folder import make_classroom
from grader.classroom.commands.grading import grade_class
from grader.classroom.handed_in.alignment import STUB as HANDED_OUT
from grader.classroom.judging import judge_process
from grader.classroom.judging.verdicts import judge_execution
from grader.classroom.running.execution import Execution
from grader.classroom.sandbox.confinement import AUTO, BUBBLEWRAP, LANDLOCK, NAMESPACES, NONE
from grader.classroom.scoring.scores import Score, score_notebook

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="steps are watched from outside on Linux"),
]
SIZES, GRADIENTS, PEAK = "check_largest_micro_batch", "check_accumulated_gradients", "check_token_peak"
WRONG_SIZES = "def largest_micro_batch(forecast_peak, batch, budget_bytes):\n    return 1"


def verdicts(scores: dict[str, Score]) -> dict[str, str]:
    return {name: score.verdict for name, score in scores.items()}


@pytest.fixture(scope="module")
def observed() -> Execution:
    """A run of the solution, before it was judged."""
    return executed(rebuilt({}))


def sizes_observation(execution: Execution) -> str:
    (text,) = next(run.observations for run in execution.cells.values() if "chosen" in str(run.observations))
    assert text is not None
    return text


@pytest.mark.parametrize(
    ("is_forked", "sandbox"),
    [(True, AUTO), (False, AUTO), (True, NAMESPACES), (False, BUBBLEWRAP), (True, LANDLOCK), (True, NONE)],
)
def test_a_solution_passes_and_its_observations_stay_out_of_the_outputs(is_forked: bool, sandbox: str) -> None:
    try:
        scores, execution = graded(is_forked=is_forked, sandbox=sandbox)
    except ClassroomError as error:
        pytest.skip(f"this machine has no such sandbox: {error}")
    assert {name: score.points for name, score in scores.items()} == POINTS
    assert execution.notes == []
    shown = json.dumps([run.outputs for run in execution.cells.values()])
    assert MEDIA_TYPE not in shown
    assert "passed: 7 jobs, each with its largest micro-batch" in shown
    assert not any(run.observations for run in execution.cells.values())


def test_the_kernel_of_a_class_has_asked_no_judge() -> None:
    own = ["import sys", "sys.modules['grader.judging'] = None  # makes an import of it fail"]
    assert set(verdicts(graded(own)[0]).values()) == {"pass"}


def test_a_wrong_answer_is_explained_as_in_a_learners_notebook() -> None:
    not_divided = ANSWERS["accumulate_gradients"].replace(" / len(group)", "")
    scores, execution = graded(accumulate_gradients=not_divided)
    score = scores[GRADIENTS]
    assert (score.points, score.verdict, score.code) == (0, "fail", "gradient_not_averaged")
    assert "times that gradient" in score.measured
    error = execution.cells[2].outputs[-1]
    assert (error["ename"], error["evalue"].partition("]")[0]) == ("CheckFailed", "[gradient_not_averaged")
    assert [line[:10] for line in error["traceback"]] == ["expected  ", "measured  ", "look at   "]


def test_a_broken_answer_fails_in_the_kernel_and_needs_no_judge() -> None:
    scores, _ = graded(
        accumulate_gradients="def accumulate_gradients(model):\n    pass",
        largest_micro_batch="def largest_micro_batch(forecast_peak, batch, budget_bytes):\n    return 1 / 0",
        accumulate_token_gradients="def accumulate_token_gradients(model, rows):\n    raise NotImplementedError()",
        triple="def triple(number):\n    return 2 * number",
    )
    codes = [scores[name].code for name in POINTS]
    assert codes == ["wrong_signature", "raised_zero_division_error", "unsolved", "AssertionError"]
    assert not any(score.points or score.needs_review for score in scores.values())


def publishes(text: str) -> str:
    return f"from IPython.display import display\ndisplay({{{MEDIA_TYPE!r}: {text!r}}}, raw=True)"


def test_a_check_that_the_notebook_replaces_is_tampered() -> None:
    scores, _ = graded([f"first = {SIZES}\ndef {SIZES}(answer):\n    first(answer)"])
    assert (scores[SIZES].points, scores[SIZES].verdict) == (0, "tampered")
    assert scores[SIZES].measured == f"the notebook replaces {SIZES}"
    assert scores[GRADIENTS].verdict == "pass"


def test_compiling_a_model_of_the_course_replaces_nothing() -> None:
    own = """\
from grader import make_transformer
torch.compile(make_transformer(layers=1, width=8, heads=1, vocabulary=9), backend="eager")(torch.zeros(1, 3).long())"""
    assert set(verdicts(graded([own])[0]).values()) == {"pass"}


def test_printed_words_earn_nothing() -> None:
    own = [f"{SIZES} = lambda answer: print('passed: 7 jobs')"]
    score = graded(own, largest_micro_batch=WRONG_SIZES)[0][SIZES]
    assert (score.points, score.code, score.needs_review) == (0, "no_verdict", True)


def test_an_observation_of_another_seed_earns_nothing() -> None:
    visible = sizes_observation(executed(rebuilt({}), seed=0))
    own = [f"def {SIZES}(answer):\n    " + publishes(visible).replace("\n", "\n    ")]
    score = graded([late(SIZES, *own)], largest_micro_batch=WRONG_SIZES)[0][SIZES]
    assert (score.points, score.verdict) == (0, "fail")


def test_a_check_that_emits_a_stored_observation_does_so_for_the_stub_too(observed: Execution) -> None:
    own = [f"def {SIZES}(answer):\n    " + publishes(sizes_observation(observed)).replace("\n", "\n    ")]
    score = graded([late(SIZES, *own)], largest_micro_batch=WRONG_SIZES)[0][SIZES]
    assert (score.points, score.verdict, score.needs_review) == (0, "tampered", True)
    assert "untouched exercise" in score.measured


def test_two_observations_are_tampered(observed: Execution) -> None:
    own = [f"first = {SIZES}\ndef {SIZES}(answer):\n    first(answer)\n    first(answer)"]
    score = graded([late(SIZES, *own)])[0][SIZES]
    assert (score.points, score.verdict, score.measured) == (0, "tampered", "2 observations from one check")


@pytest.mark.parametrize("text", ['{"facts": {"chosen": [NaN]}, "safetensors": ""}', "[" * 100_000, "", {"facts": 1}])
def test_a_malformed_observation_is_tampered(text: object) -> None:
    own = [f"def {SIZES}(answer):\n    " + publishes("").replace("''", repr(text)).replace("\n", "\n    ")]
    scores, _ = graded(own)
    assert verdicts(scores) == dict.fromkeys(POINTS, "pass") | {SIZES: "tampered"}
    assert scores[SIZES].points == 0


def test_a_judge_that_takes_too_long_leaves_the_points_to_a_person(
    observed: Execution, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_process.close_judges()
    monkeypatch.setattr(judge_process, "START_SECONDS", 0)
    monkeypatch.setattr(judge_process, "VERDICT_SECONDS", 0.05)
    judged = judge_execution(rebuilt({}), observed, SEED)
    scores = {score.check: score for score in score_notebook(rebuilt({}), judged)}
    assert verdicts(scores) == dict.fromkeys(POINTS, "undecided") | {"check_triple": "pass"}
    assert all(score.needs_review and not score.points for score in scores.values() if score.verdict == "undecided")
    monkeypatch.undo()
    again = score_notebook(rebuilt({}), judge_execution(rebuilt({}), observed, SEED))
    assert {score.verdict for score in again} == {"pass"}


def test_a_judge_without_its_libraries_stops_the_class_and_says_what_to_install(
    observed: Execution, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    judge_process.close_judges()
    (tmp_path / "safetensors").mkdir()
    (tmp_path / "safetensors" / "__init__.py").write_text("import a_package_that_is_missing")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ClassroomError, match=r"pip install 'lean-training\[train\]'"):
        judge_execution(rebuilt({}), observed, SEED)
    judge_process.close_judges()


def test_a_class_is_written_without_any_observation(tmp_path: Path) -> None:
    room, lesson = tmp_path / "room", "07_judged"
    make_classroom(room, [], {lesson: Path("judged.py")}, lambda source=None: build_master())
    for student, answers in {"ada": {}, "bob": {"largest_micro_batch": WRONG_SIZES}}.items():
        path = room / "submitted" / student / lesson / f"{lesson}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nbformat.writes(rebuilt(answers)))
    rows = {row.student: row for row in grade_class(room, jobs=2).rows}
    assert [rows[student].points("core") for student in ("ada", "bob")] == [8, 6]
    assert rows["ada"].reason == ""
    for path in room.rglob("*"):
        assert not path.is_file() or MEDIA_TYPE.encode() not in path.read_bytes(), path
    page = (room / rows["ada"].feedback).read_text()
    assert "passed: 7 jobs, each with its largest micro-batch" in page
    page = (room / rows["bob"].feedback).read_text()
    assert "expected" in page and "look at" in page


# Byte counts


CLAIM_LESS = """\
import dataclasses, grader.observing.claims as claims
measure = claims.measure_peak_memory
def measure_less(*arguments, **keywords):
    peak = measure(*arguments, **keywords)
    less = {less}
    above = peak.above_entry_bytes - {above}
    return dataclasses.replace(peak, peak_bytes=peak.peak_bytes - less, above_entry_bytes=above)
claims.measure_peak_memory = measure_less"""


@pytest.mark.parametrize(
    ("less", "above", "reason"),
    [
        ("peak.peak_bytes * 4 // 5", "less", "the kernel grew by"),
        ("peak.peak_bytes * 4 // 5", "0", "model and inputs alone have"),
        ("peak.peak_bytes - peak.above_entry_bytes", "0", "model and inputs alone have"),
    ],
    ids=["both", "entry only", "no entry"],
)
def test_a_peak_that_is_claimed_too_small_is_tampered(less: str, above: str, reason: str) -> None:
    own = late(PEAK, CLAIM_LESS.format(less=less, above=above))
    scores, _ = graded([own], accumulate_token_gradients=WHOLE_BATCH)
    assert (scores[PEAK].points, scores[PEAK].verdict) == (0, "tampered")
    assert reason in scores[PEAK].measured
    assert scores[GRADIENTS].verdict == "pass"


SIGNAL = """\
import os, subprocess, sys
descriptor = int(os.environ["LEAN_TRAINING_STEPS"])
def signal(name):
    {how}
"""
FROM_KERNEL = "os.write(descriptor, name)"
FROM_CHILD = """\
code = f"import os; os.write({descriptor}, {name!r})"
    subprocess.run([sys.executable, "-c", code], pass_fds=[descriptor], check=True)"""


@pytest.mark.parametrize("how", [FROM_KERNEL, FROM_CHILD], ids=["kernel", "child"])
@pytest.mark.parametrize("name", [b"begin", b"end", b"kernel", b"noise"])
def test_signals_that_belong_to_no_step_are_tampered(how: str, name: bytes) -> None:
    answer = ANSWERS["accumulate_token_gradients"].replace("    total = 0.0", f"    total = 0.0; signal({name!r})")
    score = graded([SIGNAL.format(how=how)], accumulate_token_gradients=answer)[0][PEAK]
    assert (score.points, score.verdict) == (0, "tampered")
    assert "claims of peak memory" in score.measured


def test_a_restarted_kernel_is_watched_like_the_first() -> None:
    scores, execution = graded(["import os\nos._exit(0)"])
    assert "the kernel died in a cell of the learner's own" in execution.reason
    assert {name: score.points for name, score in scores.items()} == POINTS
    assert execution.notes == []


def test_a_step_that_is_not_announced_is_tampered() -> None:
    own = "import grader.observing.claims as claims, contextlib\nclaims._runner_watches = contextlib.nullcontext"
    score = graded(["import os\nos.close(int(os.environ['LEAN_TRAINING_STEPS']))", late(PEAK, own)])[0][PEAK]
    assert (score.points, score.verdict) == (0, "tampered")
    assert "0 measured steps and 0 other signals for 1 claims" in score.measured


# Hooks and controls


def test_a_door_that_the_notebook_changes_is_named_and_earns_nothing() -> None:
    own = ["import grader.observing.running as running", "emit = running.emit_observation"]
    own.append("def passed_on(observation):\n    emit(observation)\nrunning.emit_observation = passed_on")
    scores, execution = graded(own)
    assert verdicts(scores) == dict.fromkeys(POINTS, "tampered") | {"check_triple": "pass"}
    assert scores[SIZES].measured == "the notebook replaces grader.observing.running"
    assert execution.notes == ["the notebook changes grader.observing.running.emit_observation"]


def test_asserts_that_are_cut_out_of_a_cell_hold_for_the_stub_too() -> None:
    own = ["def cut(lines):\n    return [line for line in lines if not line.startswith('assert')]"]
    own.append("get_ipython().input_transformers_cleanup.append(cut)")
    scores, execution = graded(own, triple="def triple(number):\n    return 0")
    assert (scores["check_triple"].points, scores["check_triple"].verdict) == (0, "tampered")
    assert scores[SIZES].verdict == "tampered"  # what transforms cells could exchange a judged check as well
    assert "transformers of cells" in execution.notes[0]


def test_a_control_leaves_names_and_random_numbers_as_they_were() -> None:
    notebook = rebuilt({"triple": "calls = []\ndef triple(number):\n    calls.append(number)\n    return 3 * number"})
    look = "import random\nprint(triple(2), calls, random.random(), torch.rand(1), 'stub' in globals())"
    notebook.cells[1].source = f"import random\nrandom.seed(1)\ntorch.manual_seed(1)\n{notebook.cells[1].source}"
    notebook.cells.append(nbformat.v4.new_code_cell(look))
    with_control = executed(notebook).cells[len(notebook.cells) - 1].outputs
    for cell in notebook.cells:
        cell.metadata.pop(HANDED_OUT, None)
    without_control = executed(notebook).cells[len(notebook.cells) - 1].outputs
    assert with_control == without_control
    assert with_control[0]["text"].startswith("6 [2, 5, 2] 0.")


HONEST = {
    "figures": "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
    "autoreload": "%load_ext autoreload\n%autoreload 2",
    "progress bar": "import time\nfrom tqdm.auto import tqdm\nfor _ in tqdm(range(3)):\n    time.sleep(0.01)",
    "warnings": "import warnings\nwarnings.filterwarnings('ignore')\nwarnings.simplefilter('always')",
    "logging": "import logging\nlogging.basicConfig(level='DEBUG')\nlogging.getLogger().error('printed on stderr')",
    "pandas": "import pandas\npandas.set_option('display.max_rows', 5)\npandas.DataFrame({'a': range(9)})",
    "helpers": "def double(x):\n    return 2 * x\ndef double(x):\n    return x + x\ndoubled = double(2)",
    "equality": "class Same:\n    def __eq__(self, other):\n        return True\nassert Same() == 3",
    "seeds": "torch.manual_seed(1)\ntorch.use_deterministic_algorithms(True)\ntorch.set_num_threads(1)",
    "own module": "import types, sys\nmine = types.ModuleType('mine')\nsys.modules['mine'] = mine\nmine.f = print",
    "magics": "%%time\n%%capture captured\nprint('hidden')",
    "a check tried before": "try:\n    check_token_peak(lambda model, rows: 0.0)\nexcept Exception:\n    pass",
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_notebook_raises_no_flag(name: str) -> None:
    scores, execution = graded([HONEST[name]])
    assert {check: score.points for check, score in scores.items()} == POINTS
    assert not any(score.needs_review for score in scores.values())
    assert execution.notes == []
