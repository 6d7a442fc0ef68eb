"""Log lines: one line for each event, without the text of documents."""

from __future__ import annotations

import logging
import traceback


class OneLine(logging.Formatter):
    """Writes a record as one line.

    Of an exception it writes the type and the places it passed, not its message: messages of databases
    and parsers quote the data they failed on.
    """

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}[{process}]: {message}", style="{")
        self.default_msec_format = "%s.%03d"

    def format(self, record: logging.LogRecord) -> str:
        line = f"{self.formatTime(record)} {record.levelname} {record.name}[{record.process}]: "
        line += record.getMessage()
        if record.exc_info and record.exc_info[0] is not None:
            kind, _value, trace = record.exc_info
            places = traceback.extract_tb(trace)[-6:]
            passed = " > ".join(f"{place.filename}:{place.lineno}" for place in places)
            line += f" | {kind.__module__}.{kind.__qualname__} at {passed}"
        return line.replace("\r", "\\r").replace("\n", "\\n")
