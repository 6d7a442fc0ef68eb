"""What a parser's process may not ask the kernel for, even once hostile input runs code in it: the network and other processes' memory.

A seccomp filter (Linux, no privilege needed once "no new privileges" is set; see seccomp(2) and bpf(4)). It is inherited by whatever the
process starts and cannot be taken off. A refused call fails with EPERM, as it does for a library that only tries.
"""

from __future__ import annotations

import ctypes
import platform
import socket
import struct
from collections.abc import Iterator

PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
EPERM_RETURNED, ALLOWED = 0x00050001, 0x7FFF0000
X32_CALLS = 0x40000000  # x86-64 has a second table of calls from here on
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # of the classic packet filter's instructions
CALL_AT, ARCHITECTURE_AT = 0, 4  # offsets into what the kernel shows of a call

# The same on every machine: what would fetch another process's descriptor, and what asks for a socket by another way.
EVERYWHERE = {"io_uring_setup": 425, "pidfd_getfd": 438}
# By machine: its name in the kernel (AUDIT_ARCH_*) and its numbers of the calls that are refused.
REFUSED = {
    "x86_64": (0xC000003E, {"socket": 41, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311} | EVERYWHERE),
    "aarch64": (0xC00000B7, {"socket": 198, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271} | EVERYWHERE),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def raise_walls() -> bool:
    """Refuse those calls from here on, to this process and all it starts; False where that cannot be had (not Linux, another machine)."""
    if platform.system() != "Linux" or platform.machine() not in REFUSED:
        return False
    program = _program(*REFUSED[platform.machine()])
    instructions = ctypes.create_string_buffer(program, len(program))
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    filter_ = _Program(len(program) // 8, ctypes.cast(instructions, ctypes.c_void_p))
    return libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0) == 0


def _program(architecture: int, calls: dict[str, int]) -> bytes:
    """The filter: calls of another architecture, of x32 and of the list are refused, all else goes through."""
    refuse = _step(RETURN, EPERM_RETURNED)
    steps = [_step(LOAD, ARCHITECTURE_AT), _step(EQUAL, architecture, 1, 0), refuse, _step(LOAD, CALL_AT)]
    steps += [_step(AT_LEAST, X32_CALLS, 0, 1), refuse]
    for number in calls.values():
        steps += [_step(EQUAL, number, 0, 1), refuse]
    return b"".join([*steps, _step(RETURN, ALLOWED)])


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)


def stands() -> Iterator[bool]:
    """For a look from inside a child: whether the network is refused."""
    try:
        socket.socket().close()
    except PermissionError:
        yield True
    else:
        yield False
