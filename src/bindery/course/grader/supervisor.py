"""Builds the sandbox around the worker, waits for it, and kills it on time or on request.

Run by path with the standard library alone: ``python -I -S supervisor.py CONFIG``. Nothing of a student's runs in
this process, and the worker cannot see it. It dies with its parent; when it dies, all that the worker started does.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

_NEW_MOUNTS, _NEW_IPC, _NEW_NAMES, _NEW_USER, _NEW_PIDS, _NEW_NET = (
    0x00020000, 0x08000000, 0x04000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_BIND, _RECURSIVE, _PRIVATE, _DETACH = 0x1000, 0x4000, 0x40000, 2
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC = 1, 2, 4, 8
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_DEATH_SIGNAL, _SUBREAPER, _NO_NEW_PRIVS = 1, 36, 38
SETUP_FAILED = 71

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> int:
    """Start the worker that the configuration in ``argv[1]`` describes; its exit status."""
    config = json.loads(sys.argv[1])
    if sys.platform == "linux":
        _check(_libc.prctl(_DEATH_SIGNAL, ctypes.c_ulong(signal.SIGTERM), 0, 0, 0), "prctl")
        _libc.prctl(_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)
    if os.getppid() != config["parent"]:
        return SETUP_FAILED
    try:
        if config["isolated"]:
            _new_namespaces()
    except OSError as error:
        print(f"{error.strerror}", file=sys.stderr)
        return SETUP_FAILED
    worker = 0

    def kill(*_: object) -> None:
        if worker:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGINT):
        signal.signal(number, kill)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGALRM, signal.SIGINT])
    worker = os.fork()
    if worker == 0:
        _become_worker(config)
    signal.alarm(config["seconds"])
    for descriptor in config["pipes"]:
        os.close(descriptor)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM, signal.SIGALRM, signal.SIGINT])
    _, status = os.waitpid(worker, 0)
    _bury()
    return os.waitstatus_to_exitcode(status) % 256


def _become_worker(config: dict[str, Any]) -> None:
    try:
        for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        with contextlib.suppress(OSError):  # the first to go when memory runs out
            Path("/proc/self/oom_score_adj").write_text("1000")
        if config["isolated"]:
            _enter(config)
        else:
            os.setsid()
            os.chdir(config["folder"])
        if config["core"] is not None:
            os.sched_setaffinity(0, [config["core"]])
        _limit(config["limits"])
        if config["isolated"]:
            _drop_rights(config["user"])
        os.execve(config["command"][0], config["command"], config["environment"])
    except OSError as error:
        print(f"{error.filename or ''} {error.strerror}".strip(), file=sys.stderr, flush=True)
    finally:
        os._exit(SETUP_FAILED)


def _new_namespaces() -> None:
    """Own mounts, processes, network and so on; without root, inside a user name space of their own."""
    flags = _NEW_MOUNTS | _NEW_IPC | _NEW_NAMES | _NEW_PIDS | _NEW_NET
    user, group = os.geteuid(), os.getegid()
    if user == 0 and _libc.unshare(flags) == 0:
        return
    _check(_libc.unshare(flags | _NEW_USER), "new name spaces (unshare)")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"1000 {user} 1")
    Path("/proc/self/gid_map").write_text(f"1000 {group} 1")


def _enter(config: dict[str, Any]) -> None:
    """A root made of read-only views of what Python needs, and one small writable folder; nothing else exists."""
    root = config["folder"]
    os.umask(0o022)
    _mount("none", "/", None, _RECURSIVE | _PRIVATE)
    _mount("tmpfs", root, "tmpfs", _NO_SUID | _NO_DEVICES, "size=1m,mode=755")
    for name in ("tmp", "proc"):
        Path(root, name).mkdir(exist_ok=True)
    disk = f"size={config['disk']},nr_inodes=4096,mode=1777"
    _mount("tmpfs", f"{root}/tmp", "tmpfs", _NO_SUID | _NO_DEVICES | _NO_EXEC, disk)
    # The writable folder comes first: what Python needs may lie below it.
    for path in config["visible"]:
        _show(path, root)
    for path in config["hidden"]:
        _hide(root + path)
    for name in ("null", "urandom"):
        _show(f"/dev/{name}", root, devices=True)
    Path(root, "etc").mkdir(exist_ok=True)
    Path(root, "etc/passwd").write_text(f"student:x:{config['user']}:{config['user']}::/tmp:/bin/false\n")
    with contextlib.suppress(OSError):  # refused in some containers; Python does without
        _mount("proc", f"{root}/proc", "proc", _READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXEC)
    os.chdir(root)
    dot = ctypes.c_char_p(b".")
    _check(_libc.syscall(ctypes.c_long(_PIVOT_ROOT[os.uname().machine]), dot, dot), "pivot_root")
    _check(_libc.umount2(dot, _DETACH), "umount")
    _seal("/", _READ_ONLY, recursive=False)
    os.chdir("/tmp")


def _show(path: str, root: str, *, devices: bool = False) -> None:
    """The same path, read-only, in the new root; a link stays a link."""
    inside = Path(root + path)
    inside.parent.mkdir(parents=True, exist_ok=True)
    if Path(path).is_symlink():
        inside.symlink_to(Path(path).readlink())
        return
    if Path(path).is_dir():
        inside.mkdir(exist_ok=True)
    else:
        inside.touch()
    _mount(path, str(inside), None, _BIND | _RECURSIVE)
    _seal(str(inside), _READ_ONLY | _NO_SUID | (0 if devices else _NO_DEVICES), recursive=True)


def _hide(inside: str) -> None:
    if Path(inside).is_dir():
        _mount("tmpfs", inside, "tmpfs", _READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXEC, "size=4k,mode=755")
    elif Path(inside).exists():
        _mount("/dev/null", inside, None, _BIND)


def _limit(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        number = getattr(resource, name, None)
        if number is not None:
            with contextlib.suppress(ValueError):  # below what already holds: stricter still
                resource.setrlimit(number, (value, value))


def _drop_rights(user: int) -> None:
    """No account of this machine, no capabilities, and no way to gain any by running a file."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    _check(_libc.prctl(_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))), "prctl")
    # In a user name space the worker is user 1000 there, so execve takes its capabilities away.


def _bury() -> None:
    """Kill what the worker left behind (its orphans are ours), until nothing is left."""
    while True:
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    told = [text.encode() if text is not None else None for text in (source, target, kind, options)]
    status = _libc.mount(told[0], told[1], told[2], ctypes.c_ulong(flags), told[3])
    _check(status, f"mount of {kind or 'a view'}")


def _seal(path: str, flags: int, *, recursive: bool) -> None:
    """Add restrictions to a mount and, when recursive, to all below it (Linux 5.12)."""
    attributes = (ctypes.c_uint64 * 4)(flags, 0, 0, 0)
    status = _libc.syscall(
        ctypes.c_long(_MOUNT_SETATTR), ctypes.c_int(_AT_FDCWD), path.encode(),
        ctypes.c_uint(_AT_RECURSIVE if recursive else 0), ctypes.byref(attributes), ctypes.c_size_t(32),
    )  # fmt: skip
    _check(status, "read-only mount (mount_setattr)")


def _check(status: int, what: str) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    sys.exit(main())
