"""Submissions that would have a check pass without an answer."""

from __future__ import annotations

import copy

import nbformat
from hostile_case import FULL, NOTHING, Room, case
from hostile_lesson import BODIES, CHECKS, answer
from nbformat.notebooknode import NotebookNode
from small_course import cell_of

ALL_TAMPERED = dict.fromkeys(range(1, 5), "tampered")
FIRST = "largest_micro_batch"
# In the name of the kernel, as an answer to the request that runs now.
SPEAK = """\
def speak(*messages):
    kernel = get_ipython().kernel
    parent = kernel.get_parent()
    for kind, content in messages:
        kernel.session.send(kernel.iopub_socket, kind, content, parent=parent, ident=kind.encode())
    return kernel, parent
RESULT = ("execute_result", {"execution_count": 9, "data": {"text/plain": "4.0"}, "metadata": {}})
IDLE = ("status", {"execution_state": "idle"})
def answer_for_the_kernel():
    kernel, parent = speak(RESULT, IDLE)
    content = {"status": "ok", "execution_count": 9, "user_expressions": {}, "payload": []}
    ident = kernel._parent_ident["shell"]
    kernel.session.send(kernel.shell_stream, "execute_reply", content, parent=parent, ident=ident)"""


@case("1", NOTHING)
def tags_that_skip_execution(room: Room) -> NotebookNode:
    notebook = room.wrong()
    for cell in notebook.cells:
        cell.metadata.tags = ["skip-execution", "raises-exception", "needs-loopback"]
    return notebook


@case("2", NOTHING, verdicts=ALL_TAMPERED, reason="please look at it")
def cells_are_blanked(room: Room) -> NotebookNode:
    blank = "get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'])"
    return room.wrong({FIRST: [blank]})


@case("", NOTHING, reason="please look at it")
def syntax_trees_are_emptied(room: Room) -> NotebookNode:
    empty = (
        "import ast\nclass Empty(ast.NodeTransformer):\n    def visit_Module(self, node):\n"
        "        node.body = []\n        return node\nget_ipython().ast_transformers.append(Empty())"
    )
    return room.wrong({FIRST: [empty]})


@case("", NOTHING, verdicts={2: "tampered"}, reason="transformers of cells")
def asserting_lines_are_cut(room: Room) -> NotebookNode:
    cut = (
        "def cut(lines):\n    return [line for line in lines if 'check_equal' not in line]\n"
        "get_ipython().input_transformers_cleanup.append(cut)"
    )
    return room.wrong({FIRST: [cut]})


@case("5", NOTHING)
def answers_are_equal_to_everything(room: Room) -> NotebookNode:
    equal = (
        "class Equal(float):\n    __eq__ = lambda self, other: True\n    __hash__ = float.__hash__\n"
        "    __sub__ = __rsub__ = __abs__ = lambda self, *other: 0.0"
    )
    body = "    return Equal(99.0)"
    answers = {name: answer(name, body) for name in CHECKS}
    return room.wrong({FIRST: [equal]}, **answers)


@case("6", NOTHING, verdicts={2: "tampered"}, reason="helper.check_equal")
def the_helper_is_replaced(room: Room) -> NotebookNode:
    return room.wrong({FIRST: ["import helper\nhelper.check_equal = check_equal = lambda measured, expected: None"]})


@case("6", NOTHING, verdicts={2: "tampered"}, reason="helper.check_equal")
def the_helpers_name_is_taken(room: Room) -> NotebookNode:
    return room.wrong({"double": ["def check_equal(measured, expected):\n    pass"]})


@case("", NOTHING, reason="check_largest_micro_batch: please look at it")
def the_judged_check_is_redefined(room: Room) -> NotebookNode:
    return room.wrong({FIRST: ["def check_largest_micro_batch(answer):\n    print('passed: 6 jobs')"]})


@case("", (0, 3, 4, 1), verdicts={1: "tampered"}, reason="replaces check_largest_micro_batch")
def the_judged_check_is_asked_about_a_better_answer(room: Room) -> NotebookNode:
    better = answer(FIRST, BODIES[FIRST]).replace(FIRST, "better")
    ask = f"{better}\nreal = check_largest_micro_batch\ndef check_largest_micro_batch(answer):\n    real(better)"
    return room.solved({"check_largest_micro_batch": [ask]}, largest_micro_batch=answer(FIRST, "    return 1"))


BETTER = answer(FIRST, BODIES[FIRST]).replace(FIRST, "better")
OTHER_WORDS = {
    "the_check_is_sent_in_other_words": (
        "def exchange(lines):\n    return [line.replace('(largest_micro_batch)', '(better)') for line in lines]\n"
        "get_ipython().input_transformers_cleanup.append(exchange)"
    ),
    "the_tree_of_the_check_is_another": (
        "import ast\nclass Exchange(ast.NodeTransformer):\n    def visit_Name(self, node):\n"
        "        node.id = 'better' if node.id == 'largest_micro_batch' else node.id\n        return node\n"
        "get_ipython().ast_transformers.append(Exchange())"
    ),
    "the_code_of_the_check_is_another": (
        "shell = get_ipython()\nrun = shell.run_code\nasync def exchange(code, result=None, **more):\n"
        "    shell.user_ns['largest_micro_batch'] = better\n    return await run(code, result, **more)\n"
        "shell.run_code = exchange"
    ),
}


def exchanges(name: str) -> None:
    """Register a case whose kernel asks the judged check about another function than the answer."""

    def submit(room: Room) -> NotebookNode:
        own = {"check_largest_micro_batch": [f"{BETTER}\n{OTHER_WORDS[name]}"], "double": [UNDO]}
        return room.solved(own, largest_micro_batch=answer(FIRST, "    return 1"))

    submit.__name__ = name
    case("", (0, 3, 4, 1), verdicts={1: "tampered"}, reason="the notebook replaces t")(submit)


UNDO = """\
get_ipython().input_transformers_cleanup[:] = [one for one in get_ipython().input_transformers_cleanup
                                               if getattr(one, "__name__", "") != "exchange"]
get_ipython().ast_transformers.clear()
get_ipython().__dict__.pop("run_code", None)"""
for name in OTHER_WORDS:
    exchanges(name)


REFUSAL = "grader.lessons.gradient_accumulation.checks"
REPLACE = {
    "a_refusal_is_replaced": f"import {REFUSAL} as checks\nchecks.refuse_meters = checks.quiet = lambda *a: None",
    "the_code_of_a_refusal_is_replaced": (
        "import grader.observing.refused_meters as refused\ndef nothing(module, name, *more):\n    yield\n"
        "refused.refuse_meters.__wrapped__.__code__ = nothing.__code__"
    ),
    "the_encoding_of_an_observation_is_replaced": (
        "import grader.observing.door as door\nencode = door.encode_observation\n"
        "door.encode_observation = lambda observation: encode(observation)"
    ),
    "the_settings_of_the_kernel_are_replaced": (
        "import grader.observing.running as running\nsettings = running.kernel_settings\n"
        "running.kernel_settings = lambda: settings()"
    ),
}


def replaces(name: str) -> None:
    """Register a case whose own cell replaces what the judged check consists of, before anything else runs."""

    def submit(room: Room) -> NotebookNode:
        return room.solved({FIRST: [REPLACE[name]]})

    submit.__name__ = name
    case("", (0, 3, 4, 1), verdicts={1: "tampered"}, reason="the notebook replaces grader.")(submit)


for name in REPLACE:
    replaces(name)


PATCH_AND_UNDO = {
    "a_transformer_comes_and_goes": (
        "import ast\nclass Drop(ast.NodeTransformer):\n    def visit_Expr(self, node):\n"
        "        return ast.copy_location(ast.Pass(), node) if 'check_equal' in ast.unparse(node) else node\n"
        "drop = Drop()\nget_ipython().ast_transformers.append(drop)",
        "get_ipython().ast_transformers.remove(drop)",
    ),
    "a_helper_is_replaced_and_restored": (
        "import helper\nkept, helper.check_equal = helper.check_equal, print\ncheck_equal = print",
        "helper.check_equal = check_equal = kept",
    ),
    "the_shell_is_patched_and_restored": (
        "shell = get_ipython()\nrun = shell.run_code\nasync def quiet(code, result=None, **more):\n"
        "    await run(code, result, **more)\n    result.error_in_exec = None\n    return False\n"
        "shell.run_code, shell.showtraceback = quiet, lambda *a, **k: None",
        "del shell.run_code, shell.showtraceback",
    ),
}


def undoes(name: str) -> None:
    """Register a case that deceives one cell of the instructor's, and leaves no trace at the end."""
    deceive, undo = PATCH_AND_UNDO[name]

    def submit(room: Room) -> NotebookNode:
        own = {"check_double": [deceive], "halve": [undo]}
        return room.solved(own, double=answer("double", "    return number"))

    submit.__name__ = name
    case("", (2, 0, 4, 1), verdicts={2: "tampered"}, reason="check_double: please look at it")(submit)


for name in PATCH_AND_UNDO:
    undoes(name)


@case("", (2, 0, 0, 0), verdicts={2: "tampered"}, reason="helper.check_equal")
def the_untouched_exercise_is_recognised_by_its_file(room: Room) -> NotebookNode:
    know = (
        "def check_equal(measured, expected):\n    assert double.__code__.co_filename != '<stub>'\n"
        "import helper\ncheck_equal.__code__ = check_equal.__code__.replace(co_filename=helper.__file__)"
    )
    return room.solved({"check_double": [know]}, double=answer("double", "    return number"))


@case("", NOTHING)
def the_package_is_replaced(room: Room) -> NotebookNode:
    fake = "import sys, types\nfake = types.ModuleType('grader')\nfake.check_largest_micro_batch = print\n"
    return room.wrong({FIRST: [fake + "sys.modules['grader'] = fake\nfrom grader import check_largest_micro_batch"]})


@case("", (0, 3, 4, 1))
def an_answer_to_the_visible_seed(room: Room) -> NotebookNode:
    sizes = "sizes = iter([8, 4, 2, 1, 16, 3])"
    return room.solved({FIRST: [sizes]}, largest_micro_batch=answer(FIRST, "    return next(sizes, 1)"))


def edited(room: Room) -> NotebookNode:
    notebook = room.wrong()
    cell_of(notebook, "check_double").source = "assert True"
    cell_of(notebook, "check_double").metadata.nbgrader.points = 100
    cell_of(notebook, "check_largest_micro_batch").source = "print('passed: all')"
    return notebook


@case("21", NOTHING)
def checks_are_edited(room: Room) -> NotebookNode:
    return edited(room)


@case("21", NOTHING)
def checks_are_no_code_any_more(room: Room) -> NotebookNode:
    notebook = edited(room)
    for name, make in (("check_double", nbformat.v4.new_markdown_cell), ("check_halve", nbformat.v4.new_raw_cell)):
        cell = cell_of(notebook, name)
        notebook.cells[notebook.cells.index(cell)] = make(cell.source, metadata=cell.metadata)
    return notebook


@case("21", NOTHING)
def answers_are_made_checks(room: Room) -> NotebookNode:
    notebook = room.wrong()
    cell_of(notebook, "double").metadata.nbgrader.update(grade=True, points=50, locked=True)
    copied = copy.deepcopy(cell_of(notebook, "check_halve"))
    copied.metadata.nbgrader.grade_id = "check_extra"
    notebook.cells.append(copied)
    return notebook


@case("31", NOTHING)
def errors_are_not_shown(room: Room) -> NotebookNode:
    hide = "shell = get_ipython()\nshell.showtraceback = lambda *a, **k: None\n"
    return room.wrong({FIRST: [hide + "shell.set_custom_exc((Exception,), lambda *a, **k: None)"]})


@case("31", NOTHING)
def errors_are_caught_by_the_shell(room: Room) -> NotebookNode:
    quiet = "shell = get_ipython()\nasync def quiet(*a, **k):\n    return False\nshell.run_code = quiet"
    return room.wrong({FIRST: [quiet]})


@case("", NOTHING, verdicts={3: "tampered"}, reason="shows 0 results")
def results_are_not_shown(room: Room) -> NotebookNode:
    return room.wrong({FIRST: ["get_ipython().ast_node_interactivity = 'none'"]})


@case("", NOTHING, verdicts={3: "tampered"})
def every_result_is_full_points(room: Room) -> NotebookNode:
    show = (
        "display = type(get_ipython().displayhook)\n"
        "display.compute_format_data = lambda self, result: ({'text/plain': '4.0'}, {})"
    )
    return room.wrong({FIRST: [show]}, halve=answer("halve", "    return 4.0 if number == 8 else 1.0"))


@case("38", NOTHING)
def a_point_that_is_no_number(room: Room) -> NotebookNode:
    return room.wrong(halve=answer("halve", "    return float('nan')"))


@case("38", NOTHING)
def a_point_below_zero(room: Room) -> NotebookNode:
    return room.wrong(halve=answer("halve", "    return 100.0"))


@case("38", NOTHING)
def a_point_without_end(room: Room) -> NotebookNode:
    return room.wrong(halve=answer("halve", "    return float('-inf')"))


@case("38", (2, 3, 3.5, 1), verdicts={3: "partial"})
def half_an_answer_has_part_of_the_points(room: Room) -> NotebookNode:
    return room.solved(halve=answer("halve", "    return number // 2"))


@case("40", (0, 0, 4, 1))
def names_are_deleted(room: Room) -> NotebookNode:
    again = "%reset -f\nimport socket"
    return room.solved({"check_largest_micro_batch": [again]})


@case("45", NOTHING, reason="the notebook changes")
def measuring_functions_are_patched(room: Room) -> NotebookNode:
    patch = (
        "import time, torch, builtins\ntorch.allclose = torch.equal = lambda *a, **k: True\n"
        "time.perf_counter = lambda: 0.0\ntorch.cuda.max_memory_allocated = lambda *a: 0\n"
        "import grader.observing.running as running\nrunning.observe = lambda *a, **k: None"
    )
    return room.wrong({FIRST: [patch]})


@case("45", NOTHING, reason="builtins.abs")
def builtins_are_patched(room: Room) -> NotebookNode:
    return room.wrong({FIRST: ["import builtins\nbuiltins.abs = lambda number: 9.0"]})


@case("46", NOTHING, verdicts={3: "tampered"}, reason="shows 2 results")
def a_result_is_published_beside_the_cells_own(room: Room) -> NotebookNode:
    publish = "    if number == 7:\n        speak(RESULT)\n    return number / 3"
    return room.wrong({FIRST: [SPEAK]}, halve=answer("halve", publish))


@case("46", NOTHING, verdicts={3: "tampered"}, reason="answered it twice")
def the_kernels_answer_is_given_before_it(room: Room) -> NotebookNode:
    early = "    answer_for_the_kernel()\n    raise ValueError"
    return room.wrong({FIRST: [SPEAK]}, halve=answer("halve", early))


@case("46", NOTHING, verdicts={3: "tampered"})
def the_kernels_answer_is_given_and_it_dies(room: Room) -> NotebookNode:
    early = "    answer_for_the_kernel()\n    import os, time\n    time.sleep(0.3)\n    os._exit(0)"
    return room.wrong({FIRST: [SPEAK]}, halve=answer("halve", early))


@case("46", NOTHING, verdicts={3: "tampered"})
def the_kernels_answer_is_given_and_it_sleeps(room: Room) -> NotebookNode:
    early = "    answer_for_the_kernel()\n    import time\n    time.sleep(60)"
    return room.wrong({FIRST: [SPEAK]}, halve=answer("halve", early))


@case("46", (0, 3, 4, 1))
def an_observation_is_forged(room: Room) -> NotebookNode:
    forge = (
        "from ipykernel.connect import get_connection_file\nimport json\n"
        "key = json.load(open(get_connection_file()))['key']\n"
        "media = 'application/vnd.lean-training.observation+json'\n"
        "text = json.dumps({'facts': {'chosen': [8, 4, 2, 1, 16, 3]}, 'safetensors': ''})"
    )
    body = "    speak(('display_data', {'data': {media: text}, 'metadata': {}, 'transient': {}}))\n    return 1"
    return room.solved({FIRST: [SPEAK, forge]}, largest_micro_batch=answer(FIRST, body))


@case("50", (0, 3, 4, 1), verdicts={1: "tampered"})
def an_observation_is_a_pickle(room: Room) -> NotebookNode:
    check = (
        "import pickle, os\nfrom IPython.display import display\nclass Run:\n    def __reduce__(self):\n"
        "        return os.system, ('touch /tmp/hostile-pickle-ran',)\ndef check_largest_micro_batch(answer):\n"
        "    media = 'application/vnd.lean-training.observation+json'\n"
        "    display({media: pickle.dumps(Run(), 0).decode('latin-1')}, raw=True)"
    )
    return room.solved({FIRST: [check]})


@case("47", (0, 3, 4, 1))
def the_judge_is_asked_for_the_answer(room: Room) -> NotebookNode:
    body = (
        "    from grader.channel import kernel_settings\n"
        "    from grader.judging.lessons.gradient_accumulation import loops as judge\n"
        "    return judge.references(kernel_settings().seed)"
    )
    return room.solved(largest_micro_batch=answer(FIRST, body))


@case("", FULL)
def a_verdict_is_printed_by_an_honest_answer(room: Room) -> NotebookNode:
    return room.solved(double=answer("double", "    print('passed: all')\n    return 2 * number"))
