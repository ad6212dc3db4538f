"""A filter on system calls for the worker: no new processes, no sockets, no memory outside its limits.

Standard library only; it runs inside the sandbox, before the first line of a student. The name spaces are the
wall; this closes what they leave open (vsock, memory that no limit counts, other cores) and much of the kernel.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

_ARCHES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_FORBIDDEN = """
    fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, clone3 435 435, ptrace 101 117, syslog 103 116,
    process_vm_readv 310 270, process_vm_writev 311 271, mount 165 40, umount2 166 39, pivot_root 155 41,
    chroot 161 51, unshare 272 97, setns 308 268, open_tree 428 428, move_mount 429 429, fsopen 430 430,
    fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442, bpf 321 280,
    perf_event_open 298 241, add_key 248 217, request_key 249 218, keyctl 250 219, userfaultfd 323 282,
    io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, memfd_create 319 279,
    memfd_secret 447 447, shmget 29 194, msgget 68 186, semget 64 190, mq_open 240 180,
    open_by_handle_at 304 265, pidfd_getfd 438 438, kexec_load 246 104, init_module 175 105,
    sched_setaffinity 203 122
"""
_CLONE, _SOCKET, _MMAP = (56, 220), (41, 198), (9, 222)
_CLONE_THREAD, _AF_UNIX, _SHARED_ANONYMOUS = 0x10000, 1, 0x21

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCH, _ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; an argument's low half, little-endian
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER_MODE = 38, 22, 2


def install() -> None:
    """Install the filter in this process, for good.

    Raises
    ------
    OSError
        The kernel or the processor's architecture does not offer it.
    """
    program = _program(platform.machine())
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(program)

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    told = Filter(len(program) // 8, ctypes.addressof(buffer))
    zero = ctypes.c_ulong(0)
    one, mode = ctypes.c_ulong(1), ctypes.c_ulong(_FILTER_MODE)
    if libc.prctl(_SET_NO_NEW_PRIVS, one, zero, zero, zero) or libc.prctl(
        _SET_SECCOMP, mode, ctypes.byref(told), zero, zero
    ):
        raise OSError(ctypes.get_errno(), "the filter of system calls cannot be installed")


def _program(machine: str) -> bytes:
    """The filter: jumps are counted in instructions, (if true, if false)."""
    if machine not in _ARCHES or sys.platform != "linux":
        raise OSError(errno.ENOSYS, f"no filter of system calls for {machine}, {sys.platform}")
    arch, column = _ARCHES[machine]
    code = [
        _step(_LOAD, _ARCH), _step(_EQUAL, arch, 1, 0), _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER), _step(_AT_LEAST, 0x40000000, 0, 1), _step(_RETURN, _KILL),
    ]  # fmt: skip
    for entry in _FORBIDDEN.split(","):
        name, *numbers = entry.split()
        # glibc falls back from clone3, whose flags lie out of sight, to clone.
        answer = errno.ENOSYS if name == "clone3" else errno.EPERM
        if numbers[column] != "-":
            code += [_step(_EQUAL, int(numbers[column]), 0, 1), _step(_RETURN, _ERRNO | answer)]
    refuse = _step(_RETURN, _ERRNO | errno.EPERM)
    code += [  # processes, but not threads
        _step(_EQUAL, _CLONE[column], 0, 5), _step(_LOAD, _ARGUMENT), _step(_AND, _CLONE_THREAD),
        _step(_EQUAL, 0, 0, 1), refuse, _step(_RETURN, _ALLOW),
    ]  # fmt: skip
    code += [  # sockets other than local ones
        _step(_EQUAL, _SOCKET[column], 0, 4), _step(_LOAD, _ARGUMENT),
        _step(_EQUAL, _AF_UNIX, 1, 0), refuse, _step(_RETURN, _ALLOW),
    ]  # fmt: skip
    code += [  # shared memory without a file, which no limit on data counts
        _step(_EQUAL, _MMAP[column], 0, 5), _step(_LOAD, _ARGUMENT + 3 * 8), _step(_AND, _SHARED_ANONYMOUS),
        _step(_EQUAL, _SHARED_ANONYMOUS, 0, 1), refuse, _step(_RETURN, _ALLOW), _step(_RETURN, _ALLOW),
    ]  # fmt: skip
    return b"".join(code)


def _step(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, if_true, if_false, value)
