"""Submissions that look for an answer: in the memory of the kernel, in the package, and in the checkout around it."""

from __future__ import annotations

from hostile_case import Room, case
from hostile_lesson import BODIES, answer
from nbformat.notebooknode import NotebookNode

FIRST = "largest_micro_batch"
NOT_FOUND = (0.0, 3.0, 4.0, 1.0)  # the first exercise earns nothing, and the honest others are not harmed

# Looks through an object of a case for the sizes that fit: numbers that divide the batch, or a list of them.
SIZES_IN = """\
def sizes_in(thing, batch):
    for name in dir(thing):
        if name.startswith("__") or name == "divisors" or name == "batch" or name.endswith("_bytes"):
            continue
        try:
            found = getattr(thing, name)
            found = found() if callable(found) else found
        except Exception:
            continue
        sizes = [found] if isinstance(found, int) else found
        if isinstance(sizes, (list, tuple)) and all(isinstance(n, int) and n and batch % n == 0 for n in sizes):
            return sizes[-1] if sizes else 0"""
RETURN_FOUND = """\
    found = find(forecast_peak, batch, budget_bytes)
    if found == 0:
        raise ValueError("nothing fits")
    return found or 1"""
# What proves that an answer was read: the source of its judge, its solution, or the judge itself.
IS_ANSWER = """\
def is_answer(text):
    return "def largest(case: FitCase)" in text or "one row needs {forecast_peak(1)" in text"""


def finds(room: Room, *cells: str) -> NotebookNode:
    """Hand in a function that returns the size that `find` finds, and 1 where it finds none."""
    return room.solved({FIRST: [SIZES_IN, *cells]}, largest_micro_batch=answer(FIRST, RETURN_FOUND))


def reads(room: Room, *cells: str) -> NotebookNode:
    """Hand in a function that is right once `is_read()` is true, and returns 1 otherwise."""
    body = f"    if not is_read():\n        return 1\n{BODIES[FIRST]}"
    return room.solved({FIRST: [IS_ANSWER, *cells]}, largest_micro_batch=answer(FIRST, body))


@case("", NOT_FOUND, verdicts={1: "fail"})
def the_sizes_are_read_from_the_frames_of_the_check(room: Room) -> NotebookNode:
    walk = """\
import sys
def find(forecast_peak, batch, budget_bytes):
    frame = sys._getframe(1)
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if type(value).__module__.startswith("grader") and (size := sizes_in(value, batch)) is not None:
                return size
        frame = frame.f_back"""
    return finds(room, walk)


@case("", NOT_FOUND, verdicts={1: "fail"})
def both_answers_about_local_sgd_are_read_from_the_memory(room: Room) -> NotebookNode:
    walk = """\
import gc, sys
from grader.channel import kernel_settings
from grader import check_local_sgd_synchronisations
taken, objects = [], []
def predict_synchronisations(micro_batches, k, every, optimizer):
    frames, frame = [], sys._getframe(1)
    while frame is not None:
        frames += frame.f_locals.values()
        frame = frame.f_back
    if not objects:
        objects.extend(one for one in gc.get_objects() if type(one).__name__.endswith("Case"))
    for thing in [*frames, *objects]:
        held = {name: getattr(thing, name, None) for name in ("micro_batches", "k", "every", "optimizer")}
        if list(held.values()) == [micro_batches, k, every, optimizer] and hasattr(thing, "synchronisations"):
            taken.append((thing.synchronisations, thing.is_equal))
    for name, module in list(sys.modules.items()):
        if name.startswith("grader.lessons") and hasattr(module, "is_equal"):
            taken.append((module.synchronisations, module.is_equal))
    return 0, False
def is_read():
    if not taken:
        check_local_sgd_synchronisations.__wrapped__(predict_synchronisations, kernel_settings().seed)
    return bool(taken)"""
    return reads(room, walk)


@case("", NOT_FOUND, verdicts={1: "fail"})
def the_sizes_are_read_from_the_callers_closures(room: Room) -> NotebookNode:
    walk = """\
import inspect
def find(forecast_peak, batch, budget_bytes):
    functions = [forecast_peak]
    for caller in inspect.stack():
        functions += [one for one in caller.frame.f_locals.values() if inspect.isfunction(one)]
    for function in functions:
        for cell in function.__closure__ or ():
            held = cell.cell_contents
            if type(held).__module__.startswith("grader") and (size := sizes_in(held, batch)) is not None:
                return size"""
    return finds(room, walk)


@case("", NOT_FOUND, verdicts={1: "fail"})
def the_sizes_are_read_from_all_objects(room: Room) -> NotebookNode:
    walk = """\
import gc
def find(forecast_peak, batch, budget_bytes):
    for thing in gc.get_objects():
        if type(thing).__name__ == "FitCase" and (thing.batch, thing.budget_bytes) == (batch, budget_bytes):
            if (size := sizes_in(thing, batch)) is not None:
                return size"""
    return finds(room, walk)


@case("", NOT_FOUND, verdicts={1: "fail"})
def the_judges_are_imported(room: Room) -> NotebookNode:
    load = """\
import importlib
def is_read():
    for package in ("judging.lessons", "judging", "judges", "cases", "checks"):
        try:
            module = importlib.import_module(f"grader.{package}.gradient_accumulation.micro_batch_size")
        except (ImportError, OSError):
            continue
        if hasattr(module, "largest") or hasattr(getattr(module, "FitCase", None), "fitting"):
            return True
    return False"""
    return reads(room, load)


@case("", NOT_FOUND, verdicts={1: "fail"})
def the_judge_is_asked_within_the_kernel(room: Room) -> NotebookNode:
    ask = """\
from grader.channel import kernel_settings
from grader.observation import Observation
from grader.observing.door import ask_judge
def is_read():
    facts = {"chosen": [1] * 6, "reasons": []}
    try:
        ask_judge("check_largest_micro_batch", Observation(facts), kernel_settings().seed)
    except (ImportError, OSError):
        return False
    return True"""
    return reads(room, ask)


@case("", NOT_FOUND, verdicts={1: "fail"})
def compiled_judges_are_loaded(room: Room) -> NotebookNode:
    load = """\
import importlib.machinery, importlib.util, os, grader
def is_read():
    package = os.path.dirname(grader.__file__)
    topic = os.path.join("gradient_accumulation", "micro_batch_size.py")
    sources = [os.path.join(package, *place, topic) for place in (["judging", "lessons"], ["judges"], ["cases"])]
    for path in [*map(importlib.util.cache_from_source, sources), *(source + "c" for source in sources)]:
        try:
            loader = importlib.machinery.SourcelessFileLoader("stolen", path)
            if "largest" in loader.get_code("stolen").co_names:
                return True
        except (ImportError, OSError):
            pass
    return False"""
    return reads(room, load)


@case("", NOT_FOUND, verdicts={1: "fail"})
def the_files_of_the_judges_are_read(room: Room) -> NotebookNode:
    read = """\
import importlib.resources, os, pkgutil, zipimport, grader
def texts():
    topic = "judging/lessons/gradient_accumulation/micro_batch_size.py"
    package = os.path.dirname(grader.__file__)
    yield lambda: open(os.path.join(package, topic)).read()
    yield lambda: importlib.resources.files("grader").joinpath(topic).read_text()
    yield lambda: pkgutil.get_data("grader", topic).decode()
    yield lambda: zipimport.zipimporter(os.path.dirname(package)).get_data(topic).decode()
    for place, _, names in os.walk(package):
        for name in names:
            yield lambda: open(os.path.join(place, name), errors="replace").read()
def is_read():
    for text in texts():
        try:
            if is_answer(text()):
                return True
        except (ImportError, OSError):
            pass
    return False"""
    return reads(room, read)


@case("", NOT_FOUND, verdicts={1: "fail"})
def the_judges_are_looked_for_through_other_processes(room: Room) -> NotebookNode:
    read = """\
import glob, os, grader
def is_read():
    package = os.path.dirname(grader.__file__)
    topics = ("/judging/lessons/gradient_accumulation/micro_batch_size.py", "/../solutions/02_gradient_accumulation.py")
    for process in ("self", "thread-self", "1", *(os.path.basename(path) for path in glob.glob("/proc/[0-9]*"))):
        for place in ("root" + package, "cwd/grader", "cwd"):
            for topic in topics:
                try:
                    if is_answer(open(f"/proc/{process}/{place}{topic}").read()):
                        return True
                except OSError:
                    pass
        for descriptor in glob.glob(f"/proc/{process}/fd/*"):
            try:
                if os.path.isfile(descriptor) and is_answer(open(descriptor, errors="replace").read(10**6)):
                    return True
            except OSError:
                pass
    return False"""
    return reads(room, read)


@case("", NOT_FOUND, verdicts={1: "fail"})
def a_judge_is_looked_for_among_the_modules(room: Room) -> NotebookNode:
    walk = """\
import gc, sys, types
def is_read():
    modules = [*sys.modules.values(), *(one for one in gc.get_objects() if isinstance(one, types.ModuleType))]
    names = [str(getattr(one, "__name__", "")) for one in modules]
    functions = [one for one in gc.get_objects() if isinstance(one, types.FunctionType)]
    return any(name.startswith(("grader.judging", "grader.judges")) for name in names) or any(
        one.__name__.startswith("judge_") and one.__module__.startswith("grader.judg") for one in functions
    )"""
    return reads(room, walk)


@case("", NOT_FOUND, verdicts={1: "fail"})
def solutions_and_tests_are_read_next_to_the_package(room: Room) -> NotebookNode:
    read = """\
import glob, os, grader
def is_read():
    checkout = os.path.dirname(os.path.dirname(grader.__file__))
    places = [os.path.join(checkout, *one) for one in (["solutions"], ["tests", "**"], ["build", "**"])]
    for path in [one for place in places for one in glob.glob(place + "/*.py", recursive=True)]:
        try:
            if is_answer(open(path).read()):
                return True
        except OSError:
            pass
    return False"""
    return reads(room, read)


@case("", NOT_FOUND, verdicts={1: "fail"})
def another_python_imports_the_judges(room: Room) -> NotebookNode:
    start = """\
import os, subprocess, sys, grader
def is_read():
    checkout = os.path.dirname(os.path.dirname(grader.__file__))
    program = "import grader.judging.lessons.gradient_accumulation.micro_batch_size as m; print(m.largest.__name__)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([checkout, "/", *sys.path])}
    environment.pop("LEAN_TRAINING_OBSERVE", None)
    for command in ([sys.executable, "-c", program], [sys.executable, "-I", "-c", program]):
        done = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True)
        if done.stdout.strip() == "largest":
            return True
    return False"""
    return reads(room, start)


@case("", NOT_FOUND, verdicts={1: "fail"})
def the_checkout_is_found_by_its_installation(room: Room) -> NotebookNode:
    read = """\
import glob, json, os, re, sys
TOPIC = "gradient_accumulation/micro_batch_size.py"
def checkouts():
    for folder in filter(os.path.isdir, sys.path):
        for path in glob.glob(folder + "/lean_training*/direct_url.json"):
            yield json.load(open(path))["url"].removeprefix("file://")
        for path in glob.glob(folder + "/*.pth") + glob.glob(folder + "/__editable__*"):
            yield from re.findall(r"/[^'\\"\\s;]+", open(path).read())
def is_read():
    for checkout in [place for found in checkouts() for place in (found, os.path.dirname(found))]:
        for path in ("solutions/02_gradient_accumulation.py", f"grader/judging/lessons/{TOPIC}"):
            try:
                if is_answer(open(os.path.join(checkout, path)).read()):
                    return True
            except OSError:
                pass
    return False"""
    return reads(room, read)
