"""The child's side: bounds itself first, then imports and calls one function."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
MEMORY_EXIT = 77


def bound(memory_bytes: int, seconds: int, output_bytes: int, parent: int) -> None:
    """Set the limits of this process; it dies with its parent where the system can do that."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, seconds)
    _limit(resource.RLIMIT_FSIZE, output_bytes)
    if sys.platform == "linux":  # elsewhere address space is no measure of memory
        _limit(resource.RLIMIT_AS, memory_bytes)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _limit(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def main(folder: str) -> int:
    request = json.loads(Path(folder, "request.json").read_text())
    bound(request["memory_bytes"], request["seconds"], request["output_bytes"], request["parent"])
    from ingestion.domain.errors import IngestionError

    try:
        module, _, name = request["function"].partition(":")
        value = getattr(importlib.import_module(module), name)(**request["arguments"])
        reply = {"value": value}
    except IngestionError as error:
        kind = next(k.__name__ for k in type(error).__mro__ if k.__name__ in ("Permanent", "NeedsHuman", "Transient"))
        reply = {"error": {"kind": kind, "code": error.code, "message": error.message}}
    except MemoryError:
        return MEMORY_EXIT
    Path(folder, "reply.json").write_text(json.dumps(reply))
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1])
    sys.stderr.flush()
    os._exit(code)  # native libraries are not asked to clean up after hostile input
