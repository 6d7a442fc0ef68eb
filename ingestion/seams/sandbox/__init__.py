"""Running a function over hostile input in a process of its own, which can die alone.

The child is a fresh interpreter (never a fork of a worker with its connections and threads), JSON goes in and out through files of a
folder that is removed whatever happens, and memory, time, file size and descriptors are bounded by the operating system.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ingestion.domain.errors import IngestionError, NeedsHuman, Permanent, Transient, failure
from ingestion.seams.renderer import Limits

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[3]
KINDS: dict[str, type[IngestionError]] = {"Permanent": Permanent, "NeedsHuman": NeedsHuman, "Transient": Transient}
KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "SYSTEMROOT")
MEMORY_EXIT = 77  # the child's own word for "no memory left"


def run_bounded(function: str, arguments: Mapping[str, Any], limits: Limits) -> Any:
    """The JSON value of `module:function(**arguments)`, computed in a child process.

    Raises what the function raised if that is an `IngestionError`, else the failure `parser_timeout`, `parser_memory` or `parser_died`.
    """
    with tempfile.TemporaryDirectory(prefix="docmemo-sandbox-") as folder:
        request, reply = Path(folder, "request.json"), Path(folder, "reply.json")
        request.write_text(
            json.dumps(
                {
                    "function": function,
                    "arguments": dict(arguments),
                    "memory_bytes": limits.memory_bytes,
                    "seconds": int(limits.seconds) + 5,
                    "output_bytes": limits.output_bytes,
                    "parent": os.getpid(),
                }
            )
        )
        code = _run(folder, limits.seconds)
        if code is None:
            raise failure("parser_timeout", f"{limits.seconds:.0f} seconds")
        if code == 0 and reply.exists() and reply.stat().st_size <= limits.output_bytes:
            return _value(json.loads(reply.read_bytes()))
        if code in (MEMORY_EXIT, -signal.SIGABRT):
            raise failure("parser_memory", f"{limits.memory_bytes // 1024**2} MiB")
        if code == -signal.SIGXCPU:
            raise failure("parser_timeout", f"{limits.seconds:.0f} seconds")
        raise failure("parser_died", f"it ended with {code}")


def _run(folder: str, seconds: float) -> int | None:
    """The child's exit code, or None past the deadline. Its whole process group is killed in any case."""
    environment = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
    environment |= {"TMPDIR": folder, "HOME": folder, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    log = Path(folder, "stderr.log")
    with log.open("wb") as stderr:
        child = subprocess.Popen(
            [sys.executable, "-m", "ingestion.seams.sandbox.child", folder],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, cwd=folder, env=environment,
            close_fds=True, start_new_session=True,
        )  # fmt: skip
    try:
        return child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        logger.debug("the parsing process said: %s", log.read_bytes()[-2000:].decode(errors="replace"))


def _value(reply: Mapping[str, Any]) -> Any:
    error = reply.get("error")
    if error is None:
        return reply["value"]
    raise KINDS[error["kind"]](error["code"], error["message"])
