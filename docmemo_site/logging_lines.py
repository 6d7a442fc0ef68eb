"""Log lines: one line for each event, without the text of documents."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from types import TracebackType

REPOSITORY = Path(__file__).resolve().parents[1]
PLACES = 4


class OneLine(logging.Formatter):
    """Writes a record as one line.

    Of an exception it writes the type, the database's code and the places it passed, not its message:
    messages of databases and parsers quote the data they failed on.
    """

    default_msec_format = "%s.%03d"

    def format(self, record: logging.LogRecord) -> str:
        line = f"{self.formatTime(record)} {record.levelname} {record.name}[{record.process}]: "
        line += record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            _kind, error, trace = record.exc_info
            line += f" | {_name(error)} at {_places(trace)}"
        return line.replace("\r", "\\r").replace("\n", "\\n")


def _name(error: BaseException) -> str:
    """The type of an exception, with the SQLSTATE or the code of our own that it or its cause carries."""
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    for one in (error, error.__cause__):
        for attribute in ("code", "sqlstate"):
            code = getattr(one, attribute, None)
            if isinstance(code, str) and code.isascii() and code.replace("_", "").isalnum():
                return f"{name}({code})"
    return name


def _places(trace: TracebackType | None) -> str:
    """Where it passed: the last places in our own code, and the very last one."""
    frames = traceback.extract_tb(trace)
    ours = [frame for frame in frames if _is_ours(frame.filename)][-PLACES:]
    shown = ours if frames and ours and frames[-1] is ours[-1] else [*ours, *frames[-1:]]
    return " > ".join(f"{_short(frame.filename)}:{frame.lineno}" for frame in shown)


def _is_ours(filename: str) -> bool:
    path = Path(filename)
    return path.is_relative_to(REPOSITORY) and ".venv" not in path.parts


def _short(filename: str) -> str:
    return (
        str(Path(filename).relative_to(REPOSITORY)) if _is_ours(filename) else filename.rpartition("site-packages/")[2]
    )
