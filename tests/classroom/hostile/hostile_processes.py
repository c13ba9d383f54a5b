"""Submissions that end, stop, flood or outlive what they run in; and honest ones that look like it."""

from __future__ import annotations

from hostile_case import FULL, Room, case
from hostile_lesson import answer
from nbformat.notebooknode import NotebookNode

FIRST = "largest_micro_batch"
SECOND_LOST = (2.0, 0.0, 4.0, 1.0)
DAEMON_SECONDS = "86397"  # by which its processes are found


@case("12", SECOND_LOST)
def the_parent_is_killed(room: Room) -> NotebookNode:
    return room.solved(double="import os\nos.kill(os.getppid(), 9)")


@case("12", FULL)
def everybody_is_killed(room: Room) -> NotebookNode:
    kill = (
        "import os\nfor name in os.listdir('/proc'):\n    if name.isdecimal() and int(name) != os.getpid():\n"
        "        try:\n            os.kill(int(name), 9)\n        except OSError:\n            pass"
    )
    return room.solved({FIRST: [kill]})


@case("14", FULL)
def a_daemon_is_left(room: Room) -> NotebookNode:
    daemon = (
        "import os, subprocess\nif os.fork() == 0:\n    try:\n        os.setsid()\n    except OSError:\n        pass\n"
        f"    os.execvp('sleep', ['sleep', '{DAEMON_SECONDS}'])\n"
        f"subprocess.Popen(['nohup', 'sleep', '{DAEMON_SECONDS}'])"
    )
    return room.solved({FIRST: [daemon]})


@case("22", FULL, silent=True)
def an_honest_answer_warns(room: Room) -> NotebookNode:
    body = "    import warnings\n    warnings.warn('this is fine')\n    return 2 * number"
    return room.solved(double=answer("double", body))


@case("23", FULL, silent=True)
def an_honest_answer_shows_a_progress_bar(room: Room) -> NotebookNode:
    body = "    import sys\n    print('50%|####', file=sys.stderr)\n    return 2 * number"
    return room.solved(double=answer("double", body))


@case("25", SECOND_LOST, verdicts={2: "error"}, reason="it was stopped after")
def a_loop_without_end(room: Room) -> NotebookNode:
    return room.solved(double="while True: pass")


@case("25", SECOND_LOST, reason="could not be interrupted")
def a_loop_that_cannot_be_interrupted(room: Room) -> NotebookNode:
    loop = (
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "while True:\n    try:\n        time.sleep(1)\n    except BaseException:\n        pass"
    )
    return room.solved(double=loop)


@case("27", (0, 0, 0, 1), verdicts={1: "timeout", 2: "timeout", 3: "timeout"}, reason="no end after")
def three_functions_sleep(room: Room) -> NotebookNode:
    sleep = "    import time\n    time.sleep(60)"
    return room.solved(**{name: answer(name, sleep) for name in (FIRST, "double", "halve")})


@case("28", SECOND_LOST, reason="the kernel died in the cell of double")
def the_kernel_exits(room: Room) -> NotebookNode:
    return room.solved(double="import os\nos._exit(0)")


@case("28", SECOND_LOST, verdicts={2: "died"}, reason="the kernel died in this check")
def the_kernel_crashes_in_a_check(room: Room) -> NotebookNode:
    return room.solved(double=answer("double", "    import ctypes\n    ctypes.string_at(0)"))


@case("28", (2, 0, 0, 0), status="stopped", verdicts={3: "not_reached"}, reason="the kernel died")
def the_kernel_dies_again_and_again(room: Room) -> NotebookNode:
    return room.solved({"check_double": 4 * ["import os\nos._exit(0)"]})


@case("29", FULL, silent=True)
def an_honest_notebook_quits(room: Room) -> NotebookNode:
    return room.solved({"check_largest_micro_batch": ["quit()", "exit"]})


@case("29", FULL)
def an_honest_notebook_raises_system_exit(room: Room) -> NotebookNode:
    return room.solved({"check_largest_micro_batch": ["import sys\nsys.exit()"]})


@case("37", FULL)
def very_much_is_printed(room: Room) -> NotebookNode:
    return room.solved({FIRST: ["for _ in range(30):\n    print('x' * 10**6)"]})


@case("37", SECOND_LOST)
def an_error_with_a_very_long_message(room: Room) -> NotebookNode:
    return room.solved(double=answer("double", "    raise ValueError('x' * 10**7)"))


@case("41", SECOND_LOST, reason="MemoryError")
def more_memory_than_there_is(room: Room) -> NotebookNode:
    return room.solved(double=answer("double", "    return bytearray(3 << 30)"))


@case("41", SECOND_LOST)
def processes_that_hold_too_much_together(room: Room) -> NotebookNode:
    hold = (
        "import os, time\nchildren = []\nfor _ in range(3):\n    child = os.fork()\n    if child == 0:\n"
        "        held = bytearray(os.urandom(1 << 20)) * 800\n        time.sleep(60)\n        os._exit(0)\n"
        "    children.append(child)\ntry:\n    time.sleep(60)\nfinally:\n"  # a busy machine interrupts it first
        "    [os.kill(child, 9) for child in children]"
    )
    return room.solved(double=hold)


@case("42", SECOND_LOST)
def a_fork_bomb(room: Room) -> NotebookNode:
    return room.solved(double="import os\nwhile True:\n    os.fork()")


@case("42", SECOND_LOST)
def threads_without_end(room: Room) -> NotebookNode:
    start = (
        "import threading, time\ntry:\n    while True:\n"
        "        threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "finally:\n    time.sleep(1.5)"  # where threads are only watched, the end comes within this cell
    )
    return room.solved(double=start)


@case("43", SECOND_LOST)
def the_disk_is_filled(room: Room) -> NotebookNode:
    fill = (
        "import time\nfor number in range(10_000):\n"
        "    open(f'{number}.bin', 'wb').write(bytes(4 << 20))\n    time.sleep(0.02)"
    )
    return room.solved(double=fill)


@case("44", SECOND_LOST)
def the_answer_is_fetched(room: Room) -> NotebookNode:
    body = (
        "    import urllib.request\n    with urllib.request.urlopen('http://192.0.2.1/answer', timeout=2) as page:\n"
        "        return int(page.read())"
    )
    return room.solved(double=answer("double", body))


@case("44", FULL)
def what_was_seen_is_posted(room: Room) -> NotebookNode:
    post = (
        "import socket\ntry:\n    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "    udp.sendto(b'hidden', ('192.0.2.1', 53))\n    print('sent')\nexcept OSError as error:\n    print(error)"
    )
    return room.solved({"": [post]})


@case("", FULL)
def the_runners_descriptors_are_closed(room: Room) -> NotebookNode:
    talk = (
        "import os\nfor number in range(3, 64):\n    try:\n"
        "        if 'socket:' not in os.readlink(f'/proc/self/fd/{number}'):\n            continue\n"
        "    except OSError:\n        continue\n"
        "fd = int(os.environ.get('LEAN_TRAINING_STEPS', -1))\n"
        "if fd >= 0:\n    [os.write(fd, b'end') for _ in range(5)]\n    os.close(fd)"
    )
    return room.solved({FIRST: [talk]})


@case("", SECOND_LOST)
def the_kernel_is_stopped(room: Room) -> NotebookNode:
    return room.solved(double="import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nimport time\ntime.sleep(60)")


@case("", SECOND_LOST)
def a_number_without_end_is_computed(room: Room) -> NotebookNode:
    return room.solved(double=answer("double", "    return 9 ** 9 ** 9"))


@case("", SECOND_LOST)
def recursion_without_end(room: Room) -> NotebookNode:
    return room.solved(double=answer("double", "    return double(number)"))


@case("", FULL)
def input_is_asked_for(room: Room) -> NotebookNode:
    ask = "    assert input('your name? ') == ''\n    return 2 * number"
    return room.solved(double=answer("double", ask))


@case("", FULL)
def the_environment_is_emptied(room: Room) -> NotebookNode:
    return room.solved({FIRST: ["import os\nos.environ.clear()"]})


@case("", FULL)
def the_settings_of_torch_are_changed(room: Room) -> NotebookNode:
    change = (
        "import torch\ntorch.set_default_dtype(torch.float64)\ntorch.set_default_device('meta')\n"
        "torch.set_grad_enabled(False)\ntorch.set_float32_matmul_precision('medium')"
    )
    return room.solved({FIRST: [change]})


MALFORMED = (
    "{}",
    "{'data': 5}",
    "{'data': {'text/plain': 7}, 'metadata': {}}",
    "{'data': {'text/plain': 'x'}, 'metadata': 3}",
    "{'data': {}, 'metadata': {}, 'transient': 1}",
    "{'name': 'stdout', 'text': 5}",
    "{'name': 5, 'text': 'x'}",
    "{'name': 'stdout', 'text': chr(0xD800)}",
    "{'ename': 1, 'evalue': None, 'traceback': 'x'}",
    "{'execution_state': []}",
    "{'status': 'unknown'}",
    "{'comm_id': []}",
    "[]",
    "'text'",
    "None",
    "{'wait': 1}",
)


@case("", FULL)
def malformed_messages_are_sent(room: Room) -> NotebookNode:
    send = (
        "kernel = get_ipython().kernel\nparent = kernel.get_parent()\n"
        "kinds = ['stream', 'display_data', 'execute_result', 'update_display_data', 'error', 'status', 'clear_output',"
        " 'comm_open', 'comm_msg', 'execute_input', 'unknown', 'execute_reply']\n"
        f"for content in [{', '.join(MALFORMED)}]:\n    for kind in kinds:\n        try:\n"
        "            kernel.session.send(kernel.iopub_socket, kind, content, parent=parent)\n"
        "        except Exception as error:\n            pass\n"
        "kernel.iopub_socket.send_multipart([b'x', b'<IDS|MSG>', b'sig', b'{', b'', b'[]', b'\\xff'])\n"
        "kernel.iopub_socket.send_multipart([b'x'])"
    )
    return room.solved({FIRST: [send]})


@case("", SECOND_LOST, verdicts={2: "error"})
def an_error_speaks_in_half_characters(room: Room) -> NotebookNode:
    return room.solved(double=answer("double", "    raise ValueError('half: \\ud800')"))


@case("", FULL)
def the_connection_is_asked_to_shut_down(room: Room) -> NotebookNode:
    stop = (
        "from ipykernel.connect import get_connection_file\nimport json, zmq\n"
        "from jupyter_client import BlockingKernelClient\nclient = BlockingKernelClient()\n"
        "client.load_connection_file(get_connection_file())\nclient.start_channels()\nclient.shutdown()\n"
        "import time\ntime.sleep(0.3)"
    )
    return room.solved({"": [stop]})


@case("", FULL)
def messages_flood_the_runner(room: Room) -> NotebookNode:
    flood = (
        "kernel = get_ipython().kernel\nblock = 'x' * (8 << 20)\nparent = kernel.get_parent()\n"
        "content = {'name': 'stdout', 'text': block}\n"
        "while True:\n    kernel.session.send(kernel.iopub_socket, 'stream', content, parent=parent)"
    )
    return room.solved({"": [flood]})
