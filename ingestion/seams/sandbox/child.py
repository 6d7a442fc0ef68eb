"""The child's side: bind this process first, then import and run one generator. Started as `python -m`, never imported."""

from __future__ import annotations

import ctypes
import errno
import importlib
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from ingestion.seams.sandbox.bounds import ITEMS, OUT_OF_MEMORY, REQUEST, TOO_MUCH_OUTPUT
from ingestion.seams.sandbox.walls import raise_walls

PR_SET_PDEATHSIG = 1


def bind(request: dict[str, Any]) -> None:
    """Give up what the work does not need. Nothing of the input was touched before this."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, request["cpu_seconds"])
    _limit(resource.RLIMIT_FSIZE, request["output_bytes"])
    if sys.platform == "linux":  # elsewhere address space is no measure of memory, and prctl does not exist
        _limit(resource.RLIMIT_AS, request["memory_bytes"])
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != request["parent"]:  # the parent died before the line above could notice
        os._exit(1)
    raise_walls()


def _limit(what: int, value: float) -> None:
    _, hard = resource.getrlimit(what)
    wanted = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
    resource.setrlimit(what, (wanted, wanted if what != resource.RLIMIT_CPU else hard))


def serve(request: dict[str, Any]) -> int:
    """Run the function and write one line for each value, or one for the typed failure it raised."""
    from ingestion.domain.errors import IngestionError

    with Path(ITEMS).open("wb", buffering=0) as out:
        try:
            module, _, name = request["function"].partition(":")
            for value in getattr(importlib.import_module(module), name)(**request["argument"]):
                _line(out, {"value": value})
            _line(out, {"end": True})
        except IngestionError as error:
            _line(out, {"code": error.code, "message": error.message})
        except MemoryError:
            return OUT_OF_MEMORY
        except OSError as error:
            if error.errno == errno.ENOMEM:
                return OUT_OF_MEMORY
            if error.errno == errno.EFBIG:
                return TOO_MUCH_OUTPUT
            raise
    return 0


def _line(out: Any, value: dict[str, Any]) -> None:
    # NaN is no JSON; a lone surrogate would not survive being stored
    data = json.dumps(value, allow_nan=False).encode() + b"\n"
    while data:  # an unbuffered file may write less than it is given
        data = data[out.write(data) :]


def main() -> int:
    request = json.loads(Path(REQUEST).read_bytes())
    bind(request)
    return serve(request)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # native libraries are not asked to tidy up after hostile input
