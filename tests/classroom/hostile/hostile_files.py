"""Submissions that read or write what is not theirs, or tell students what is hidden."""

from __future__ import annotations

from hostile_case import FULL, NOTHING, Room, case
from hostile_lesson import BODIES, CHECKS, STUBS, answer
from nbformat.notebooknode import NotebookNode

FIRST = "largest_micro_batch"


@case("8", NOTHING)
def the_answers_are_read_from_the_master(room: Room) -> NotebookNode:
    steal = (
        f"import json\ndef steal(name):\n    try:\n        cells = json.load(open({str(room.folder)!r} + "
        "'/source/08_four_questions/08_four_questions.ipynb'))['cells']\n    except OSError:\n        return\n"
        "    for cell in cells:\n        if 'exercise: ' + name in ''.join(cell['source']):\n"
        "            exec(''.join(cell['source']), globals())\n"
        "for name in ('largest_micro_batch', 'double'):\n    steal(name)"
    )
    return room.wrong({"check_largest_micro_batch": [steal], "check_double": [steal]})


@case("10", FULL)
def the_gradebook_is_written(room: Room) -> NotebookNode:
    write = (
        f"import glob, sqlite3\nplaces = ['gradebook.db', '../gradebook.db', {str(room.folder / 'gradebook.db')!r}]\n"
        "for place in places + glob.glob('/tmp/**/gradebook.db', recursive=True):\n    try:\n"
        "        database = sqlite3.connect(place, timeout=1)\n"
        "        database.execute('UPDATE grade SET manual_score = 9, extra_credit = 50')\n        database.commit()\n"
        "    except sqlite3.Error:\n        pass"
    )
    return room.solved({FIRST: [write]})


@case("11", FULL)
def hidden_tests_are_looked_for(room: Room) -> NotebookNode:
    look = (
        "import glob, os\nfor place in ('.', '..', '/tmp', os.path.expanduser('~')):\n"
        "    for path in glob.glob(place + '/*.ipynb') + glob.glob(place + '/*/*.ipynb'):\n"
        "        print(open(path).read())"
    )
    return room.solved({FIRST: [look], "": [look]})


@case("11", FULL)
def hidden_tests_are_printed_from_the_history(room: Room) -> NotebookNode:
    look = "print(In)\nprint(In[-3:])\nimport linecache\nfor lines in linecache.cache.values():\n    print(lines[2])"
    return room.solved({"": [look, "%history"]})


@case("11", FULL)
def hidden_arguments_are_printed(room: Room) -> NotebookNode:
    body = "    print('number is', number)\n    seen.append(number)\n    return 2 * number"
    return room.solved({FIRST: ["seen = []"], "": ["print(seen)"]}, double=answer("double", body))


@case("11", (2, 0, 4, 1))
def hidden_tests_are_told_by_an_error(room: Room) -> NotebookNode:
    body = "    import sys\n    raise AssertionError(sys._getframe(1).f_code.co_consts, number, In[-1])"
    tell = answer("double", "    if number == 4:\n        return 8\n" + body)
    return room.solved(double=tell)


@case("", FULL)
def the_secret_and_the_environment_are_looked_for(room: Room) -> NotebookNode:
    look = (
        f"for path in [{str(room.folder / 'secret')!r}, {str(room.folder / 'grading.json')!r}, '/etc/shadow']:\n"
        "    try:\n        print(path, open(path).read())\n    except OSError as error:\n        print(type(error))"
    )
    return room.solved({FIRST: [look]})


@case("", FULL)
def the_class_is_written(room: Room) -> NotebookNode:
    places = [room.folder / "source" / "x", room.folder / "submitted" / "x", room.folder / "nbgrader_config.py"]
    write = f"for path in {[str(place) for place in places]}:\n    try:\n        open(path, 'a').write('x')\n"
    return room.solved({FIRST: [write + "    except OSError:\n        pass"]})


@case("", FULL)
def the_course_is_written(room: Room) -> NotebookNode:
    write = (
        "import os, grader\nfor module in (grader, os):\n    try:\n"
        "        open(module.__file__, 'a').write('\\n')\n    except OSError:\n        pass"
    )
    return room.solved({FIRST: [write]})


@case("35", NOTHING)
def modules_of_ones_own_are_handed_in(room: Room) -> NotebookNode:
    room.hand_in("def check_equal(measured, expected):\n    pass\n", "helper.py")
    room.hand_in("def check_largest_micro_batch(answer):\n    print('passed')\n", "grader/__init__.py")
    return room.wrong()


@case("35", NOTHING, verdicts={2: "tampered"}, reason="helper.py")
def a_module_is_written_beside_the_notebook(room: Room) -> NotebookNode:
    write = (
        "import importlib, pathlib, sys\ntext = 'def check_equal(measured, expected):\\n    pass\\n'\n"
        "pathlib.Path('helper.py').write_text(text)\nimport helper\nimportlib.reload(helper)\n"
        "from helper import check_equal"
    )
    return room.wrong({FIRST: [write]})


@case("", (2, 0, 0, 0), verdicts={2: "tampered"}, reason="helper.py")
def the_helpers_file_is_written(room: Room) -> NotebookNode:
    return room.solved({FIRST: ["open('helper.py', 'a').write('\\n')"]})


@case("", (2, 0, 0, 0), verdicts={2: "tampered"}, reason="helper.py")
def the_folder_is_emptied(room: Room) -> NotebookNode:
    return room.solved({FIRST: ["import os\nfor name in os.listdir('.'):\n    os.remove(name)"]})


@case("48", FULL)
def an_early_time_is_handed_in(room: Room) -> NotebookNode:
    room.hand_in("2001-01-01 00:00:00 UTC", "timestamp.txt")
    return room.solved()


@case("", (2, 0, 4, 1))
def a_page_of_ones_own_is_written_into_the_feedback(room: Room) -> NotebookNode:
    page = "<script>alert(1)</script></pre><h1>100 %</h1>\x1b[31m=cmd|' /C calc'!A1"
    show = f"from IPython.display import HTML, display\ndisplay(HTML({page!r}))\nprint({page!r})"
    return room.solved({FIRST: [show]}, double=answer("double", f"    raise ValueError({page!r})"))


@case("", FULL)
def the_seed_is_printed(room: Room) -> NotebookNode:
    show = (
        "import os\nfrom grader.channel import kernel_settings\nseed = kernel_settings().seed\n"
        "print(seed, os.environ.get('LEAN_TRAINING_SEED'), open('/proc/self/environ').read())\n"
        "print(kernel_settings())\nfrom IPython.display import HTML, display\ndisplay(HTML(f'<b>{seed}</b>'))\nseed"
    )
    body = "    from grader.channel import kernel_settings\n    print(kernel_settings())\n    return 2 * number"
    return room.solved({FIRST: [show]}, double=answer("double", body))


@case("", FULL)
def modules_name_files_of_the_machine(room: Room) -> NotebookNode:
    name = (
        "import os, sys, types\nos.mkfifo('pipe.py')\n"
        "places = ['../../proc/kmsg', '../../../../proc/kmsg', 'pipe.py', '.']\n"
        "for number, place in enumerate(places):\n    module = sys.modules[f'own{number}'] = types.ModuleType('own')\n"
        "    module.__file__ = os.path.join(os.getcwd(), place)"
    )
    return room.solved({FIRST: [name]})


@case("", FULL)
def ten_megabytes_of_source(room: Room) -> NotebookNode:
    body = f"    # {'1+' * 100_000}\n    return 2 * number"
    return room.solved({FIRST: [f"# {'1+' * (5 << 20)}\ntotal = 0"]}, double=answer("double", body))


def all_of(exercises: tuple[str, ...]) -> str:
    """Return the right answers of some exercises, in one cell."""
    return "\n".join(f"{STUBS[name]}\n{BODIES[name]}" for name in exercises)


@case("", FULL)
def all_answers_stand_in_one_cell(room: Room) -> NotebookNode:
    notebook = room.solved(largest_micro_batch=all_of(tuple(CHECKS)))
    others = tuple(CHECKS)[1:]
    notebook.cells = [
        cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") not in others
    ]
    return notebook
