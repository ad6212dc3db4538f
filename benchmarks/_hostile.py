"""Submissions that attack the grader, and what each tries. They answer the exercise ``90_total``: add numbers up.

The code of an attack defines ``attack()``. When it returns without an exception, the attack has succeeded and the
submission answers rightly, so that every point it gets is a hole in the wall. What stops it is told by the report.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

EXERCISE = "90_total"
CHECK = '''
"""Sums of numbers."""

from bindery.course.checking import expect, numbers, part


@part(2, "the sum of an array")
def sums(ask, rng):
    values = rng.standard_normal(int(rng.integers(3, 9)))
    expect(abs(numbers(ask("total", values), "total") - values.sum()) < 1e-9, "total is not the sum.")
'''
HONEST = "import numpy as np\n\ndef total(values):\n    return float(np.sum(values))\n"
_ATTACK = """
{code}

def total(values):
    attack()
    return honest(values)
"""
_HELP = """
import os, sys, json, struct

def honest(values):
    answer = 0.0
    for value in values:
        answer += float(value)
    return answer

def descriptors():
    for number in range(3, 64):
        try:
            os.fstat(number)
        except OSError:
            continue
        yield number

def to_all(content):
    written = 0
    for number in descriptors():
        try:
            os.set_blocking(number, False)
            written += os.write(number, content)
        except OSError:
            pass
    return written
"""


@dataclass(frozen=True)
class Attack:
    """A submission: what it tries, and its code, with the places of the class's files filled in."""

    name: str
    tries: str
    code: str
    suffix: str = ".py"
    whole: bool = False

    def write(self, folder: Path, places: dict[str, str]) -> Path:
        """Write it into the folder of submissions; ``places`` are the secrets it looks for."""
        path = folder / f"hostile_{self.name}_{EXERCISE}{self.suffix}"
        code = dedent(self.code).strip()
        for key, place in places.items():
            code = code.replace(f"<{key}>", place)
        path.write_text(code if self.whole else _HELP + _ATTACK.format(code=code), encoding="utf-8")
        return path


def _a(name: str, tries: str, code: str) -> Attack:
    return Attack(name, tries, code)


ATTACKS = [
    _a("hang", "never returns", "def attack():\n    while True:\n        pass"),
    _a("hang_at_start", "never finishes its cells", "while True:\n    pass\ndef attack():\n    pass"),
    _a("deaf", "ignores all signals and hangs", """
        import signal
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        def attack():
            while True:
                try:
                    import time
                    time.sleep(1)
                except BaseException:
                    pass
    """),
    _a("fork", "a fork bomb", "def attack():\n    while True:\n        os.fork()"),
    _a("daemon", "a daemon that outlives it", """
        def attack():
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    import time
                    time.sleep(10**6)
                os._exit(0)
    """),
    _a("shell", "runs a program", "import subprocess\ndef attack():\n    subprocess.run(['/bin/ls'], check=True)"),
    _a("threads", "ten thousand threads", """
        import threading, time
        threading.stack_size(65536)
        def attack():
            for _ in range(10000):
                threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    """),
    _a("memory", "fills the memory", """
        def attack():
            kept = []
            while True:
                kept.append(b"x" * 2**26)
    """),
    _a("shared_memory", "memory that limits on data do not count", """
        import mmap
        def attack():
            mmap.mmap(-1, 1 << 20)
    """),
    _a("memory_file", "memory as a file without a name", "def attack():\n    os.memfd_create('x')"),
    _a("disk", "fills the disk", """
        def attack():
            for number in range(10**6):
                with open(f"/tmp/{number}", "wb") as file:
                    file.write(bytes(1 << 24))
    """),
    _a("one_file", "one endless file", """
        def attack():
            with open("/tmp/large", "wb") as file:
                while True:
                    file.write(bytes(1 << 24))
    """),
    _a("many_files", "a million files", """
        def attack():
            for number in range(10**6):
                open(f"/tmp/{number}", "w").close()
    """),
    _a("network", "connects to the network", """
        import socket
        def attack():
            socket.create_connection(("1.1.1.1", 53), timeout=2)
    """),
    _a("vsock", "talks to the machine below", """
        import socket
        def attack():
            socket.socket(40, socket.SOCK_STREAM).connect((2, 1))
    """),
    _a("read_checks", "reads the check", """
        import bindery.course.checking as checking
        def attack():
            text = "".join(path.read_text() for path in checking.CHECKS.rglob("*.py"))
            if not text:
                raise FileNotFoundError("the folder of checks is empty")
    """),
    _a("read_private", "reads the teacher's private check", "def attack():\n    open('<private>').read()"),
    _a("read_others", "reads another student's submission", "def attack():\n    open('<other>').read()"),
    _a("write_report", "writes the report", "def attack():\n    open('<report>', 'a').write('5 points')"),
    _a("symlink", "writes the report through a link", """
        def attack():
            os.symlink('<report>', '/tmp/link')
            open('/tmp/link', 'a').write('5 points')
    """),
    _a("write_package", "changes the grader's code", """
        import bindery.course.checking as checking
        def attack():
            open(checking.__file__, "a").write("# mine")
    """),
    _a("write_python", "changes a package for those who come after", """
        import numpy
        def attack():
            open(numpy.__file__, "a").write("# mine")
    """),
    _a("leave_behind", "leaves a note for the next student's run", """
        if os.path.exists("/tmp/note"):
            def attack():
                pass
        else:
            open("/tmp/note", "w").write("answers")
            def attack():
                raise RuntimeError("no note was there")
    """),
    _a("environment", "reads secrets from the environment", """
        def attack():
            if not {"BINDERY_ROOT", "USER", "BINDERY_SECRET"} & set(os.environ):
                raise LookupError("the environment is bare")
    """),
    _a("parents", "finds and stops the processes above it", """
        def attack():
            if os.getppid():
                os.kill(os.getppid(), 9)
            others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
            if not others:
                os.kill(-1, 9)
    """),
    _a("root", "becomes root of a new name space", """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        def attack():
            if libc.unshare(0x10000000 | 0x20000):
                raise OSError(ctypes.get_errno(), "unshare")
    """),
    _a("unmount", "takes the cover off the checks", """
        import ctypes, bindery.course.checking as checking
        libc = ctypes.CDLL(None, use_errno=True)
        def attack():
            if libc.umount2(str(checking.CHECKS).encode(), 2):
                raise OSError(ctypes.get_errno(), "umount")
    """),
    _a("trace", "looks into another process", """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        def attack():
            if libc.ptrace(0, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "ptrace")
    """),
    _a("raise_limits", "lifts its limits", """
        import resource
        def attack():
            for limit in (resource.RLIMIT_DATA, resource.RLIMIT_CPU):
                resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    """),
    _a("equal", "an answer that equals everything", """
        class Yes:
            def __eq__(self, other): return True
            def __lt__(self, other): return True
            def __sub__(self, other): return self
            def __abs__(self): return self
            def __float__(self): return 0.0
            def __array__(self, *a, **k): return self
        def honest(values): return Yes()
        def attack(): pass
    """),
    _a("float_that_lies", "a float of its own kind", """
        class Zero(float):
            def __sub__(self, other): return Zero(0)
            def __eq__(self, other): return True
        def honest(values): return Zero(1)
        def attack(): pass
    """),
    _a("array_that_lies", "an array of its own kind", """
        import numpy as np
        class Lie(np.ndarray):
            def __array_ufunc__(self, *a, **k): return True
            def __array_function__(self, *a, **k): return True
        def honest(values): return np.zeros(()).view(Lie)
        def attack(): pass
    """),
    _a("patch_numpy", "patches builtins, NumPy and the check's helpers", """
        import builtins, numpy as np, bindery.course.checking as checking
        builtins.abs = lambda value: 0
        np.abs = np.sum = np.allclose = lambda *a, **k: 0.0
        checking.expect = lambda condition, sentence: None
        checking.numbers = lambda *a, **k: 0.0
        def honest(values): return 1e9
        def attack(): pass
    """),
    _a("patch_messages", "replaces the grader's codec in its own process", """
        import bindery.course.grader.codec as codec, json
        def encode(value):
            text = json.dumps({"dict": {"got": 1.0, "sentence": "", "answer": 0.0, "id": value["id"]}}).encode()
            return codec.HEADER.pack(codec.MAGIC, len(text), 0) + text
        codec.encode = encode
        def honest(values): return 1e9
        def attack():
            raise RuntimeError("points")
    """),
    _a("fake_verdict", "prints a verdict of its own", """
        def honest(values):
            for line in ('{"got": 1.0, "sentence": ""}', "2 of 2 points", "passed"):
                print(line, flush=True)
                print(line, file=sys.stderr, flush=True)
            return 1e9
        def attack(): pass
    """),
    _a("verdict_in_pipe", "writes a verdict into every open pipe", """
        def attack():
            to_all(b'{"got": 1.0, "sentence": ""}\\n' * 10)
            raise RuntimeError("sent")
    """),
    _a("garbage", "writes garbage into every open pipe", """
        def attack():
            while True:
                to_all(os.urandom(4096))
    """),
    _a("busy_threads", "takes all processor cores from the others", """
        import ctypes, threading
        def attack():
            os.sched_setaffinity(0, range(os.cpu_count()))
    """),
    _a("endless", "announces a message and never ends it", """
        def attack():
            to_all(b"BND1" + struct.pack("!II", 8 << 20, 64 << 20))
            while True:
                to_all(bytes(1 << 16))
    """),
    _a("gigantic", "announces a message of four gigabytes", """
        def attack():
            to_all(b"BND1" + struct.pack("!II", 2**32 - 1, 2**32 - 1))
    """),
    _a("pickle", "sends a pickle that runs a program", """
        import pickle
        class Run:
            def __reduce__(self): return os.system, ("touch <mark>",)
        def attack():
            content = pickle.dumps(Run())
            to_all(b"BND1" + struct.pack("!II", len(content), 0) + content)
    """),
    _a("deep", "sends JSON nested a million deep", """
        def attack():
            to_all(b"BND1" + struct.pack("!II", 60000, 0) + b"[" * 60000)
    """),
    _a("wrong_shape", "sends an array larger than its bytes", """
        def attack():
            text = b'{"dict":{"id":%d,"answer":{"array":["<f8",[1000000]]}}}'
            for number in range(9):
                line = text % number
                to_all(b"BND1" + struct.pack("!II", len(line), 8) + line + bytes(8))
    """),
    _a("replies_ahead", "answers before it is asked, with wrong answers", """
        def attack():
            for number in range(2, 9):
                line = b'{"dict":{"id":%d,"answer":1e9}}' % number
                to_all(b"BND1" + struct.pack("!II", len(line), 0) + line)
    """),
    _a("large_answer", "returns a gigabyte", """
        import numpy as np
        def honest(values): return np.ones(2**27, np.uint8)
        def attack(): pass
    """),
    _a("exit", "ends the process", "def attack():\n    os._exit(0)"),
    _a("exit_71", "ends the process as a broken sandbox would", "def attack():\n    os._exit(71)"),
    _a("system_exit", "raises SystemExit", "def attack():\n    sys.exit(0)"),
    _a("segfault", "crashes the interpreter", "import ctypes\ndef attack():\n    ctypes.string_at(0)"),
    _a("recursion", "overflows the stack", """
        sys.setrecursionlimit(10**9)
        class Deep:
            def __repr__(self): return repr(Deep())
        def attack():
            repr(Deep())
    """),
    _a("close_pipes", "closes every pipe and goes on", """
        def attack():
            for number in list(descriptors()):
                os.close(number)
            while True:
                pass
    """),
    _a("input", "waits for the teacher to type", "def attack():\n    input('points? ')"),
    _a("evil_message", "an exception with a formula, escapes and a verdict", """
        class Error(Exception):
            def __str__(self):
                return "\\x1b[2J\\r\\n=HYPERLINK(1),02,5,5\\u202e" + "x" * 10**6
        def attack():
            raise Error
    """),
    _a("mute_message", "an exception that cannot be shown", """
        class Error(BaseException):
            def __str__(self): raise self
        def attack():
            raise Error
    """),
    _a("chatter", "prints without end", "def attack():\n    while True:\n        print('x' * 10**6)"),
    Attack("no_json", "damaged JSON", '{"cells": [', ".ipynb", True),
    Attack("deep_json", "JSON nested too deep", "[" * 10**5, ".ipynb", True),
    Attack("no_cells", "a notebook without cells", '{"cells": 3, "metadata": []}', ".ipynb", True),
    Attack("odd_cells", "cells that are none", json.dumps(
        {"cells": [None, {"cell_type": "code", "source": 5}, {"cell_type": "code", "source": ["a", 1]}, [], "x"],
         "metadata": {"bindery": {"exercise": ["../../etc/passwd"]}}}), ".ipynb", True),
    Attack("path_in_name", "an exercise that is a path", json.dumps(
        {"cells": [{"cell_type": "code", "source": HONEST}],
         "metadata": {"bindery": {"exercise": "../../../private/90_total"}}}), ".ipynb", True),
    Attack("surrogate", "text that is no text", json.dumps(
        {"cells": [{"cell_type": "code", "source": "def total(values): raise ValueError('\ud800')"}]}), ".ipynb", True),
]  # fmt: skip
RIGHT_ALL_THE_SAME = {"path_in_name"}
"""Attacks that carry a right answer: they keep their points, the attack must have no other effect."""


def write_files(folder: Path, secret: Path) -> dict[str, str]:
    """Submissions that attack as files rather than by code; what each tries, by file name."""
    (folder / f"hostile_link_{EXERCISE}.py").symlink_to(secret)
    os.mkfifo(folder / f"hostile_fifo_{EXERCISE}.py")
    with (folder / f"hostile_gigabyte_{EXERCISE}.ipynb").open("wb") as file:
        file.truncate(1 << 30)
    (folder / f"hostile_bytes_{EXERCISE}.py").write_bytes(b"\xff\xfe\x00")
    (folder / f"=hostile\x1b[2J\n,{EXERCISE}.py").write_text("")
    return {
        f"hostile_link_{EXERCISE}.py": "a link to a file of the teacher's",
        f"hostile_fifo_{EXERCISE}.py": "a pipe that never opens",
        f"hostile_gigabyte_{EXERCISE}.ipynb": "a notebook of a gigabyte",
        f"hostile_bytes_{EXERCISE}.py": "a file that is no text",
        f"=hostile [2J ,{EXERCISE}.py": "a name with a formula, an escape and a line break",
    }
