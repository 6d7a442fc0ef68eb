"""What the commands share: the organisation and person they act for, one JSON value on standard output, progress on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO
from uuid import UUID

from django.core.management.base import CommandError
from django.db import OperationalError, connections

from docmemo_site.embedded import ensure_up
from docmemo_site.embedded.errors import EmbeddedError
from ingestion.models import Organisation, User
from ingestion.selectors.progress import Progress, submissions_progress

BAR = 28


def services_ready(say: Callable[[str], Any], fresh: bool = False) -> None:
    """Start the embedded services when they are down; `fresh` restarts processes of older code. Raises `CommandError` with the mend."""
    try:
        ensure_up(say=say, fresh=fresh)
    except EmbeddedError as error:
        raise CommandError(str(error)) from error


def print_json(stdout: Any, value: Any) -> None:
    """One JSON value, ids and times as text."""
    stdout.write(json.dumps(value, indent=1, default=str, ensure_ascii=False))


def organisation_named(slug: str | None, create: bool = False) -> Organisation:
    """The organisation of this slug, or the only one there is; `create` makes the first one."""
    if slug:
        found = Organisation.objects.filter(slug=slug).first()
        if found is None:
            raise CommandError(f"There is no organisation {slug}.")
        return found
    organisations = list(Organisation.objects.all()[:2])
    if len(organisations) == 1:
        return organisations[0]
    if not organisations and create:
        return Organisation.objects.create(slug="local", name="Local organisation")
    if not organisations:
        raise CommandError("There is no organisation yet. Run ops/quickstart, or ingest a document first.")
    raise CommandError("There are several organisations; say which with --organisation SLUG.")


def person_named(username: str) -> User:
    """The active person of this name. Raises `CommandError`."""
    user = User.objects.filter(username=username, is_active=True).select_related("organisation").first()
    if user is None or user.organisation is None:
        raise CommandError(f"There is no active person {username} in an organisation.")
    return user


class ProgressBoard:
    """A bar for each document: redrawn in place on a terminal, a line at each change elsewhere."""

    def __init__(self, names: Mapping[UUID, str], stream: TextIO = sys.stderr) -> None:
        self.names = names
        self.stream = stream
        self.drawn = 0
        self.said: dict[UUID, str] = {}

    def show(self, states: Sequence[Progress]) -> None:
        if self.stream.isatty():
            self._redraw(states)
        else:
            self._say_changes(states)

    def _redraw(self, states: Sequence[Progress]) -> None:
        ended = [s for s in states if s.ended and s.event_id not in self.said]
        open_ = [s for s in states if not s.ended]
        lines = [f"{sum(s.ended for s in states)} of {len(states)} documents", *(self._line(s) for s in open_[:12])]
        if self.drawn:
            self.stream.write(f"\x1b[{self.drawn}A\x1b[J")
        for state in ended:
            self.said[state.event_id] = state.state
            self.stream.write(self._line(state) + "\n")
        self.stream.write("\n".join(lines) + "\n")
        self.stream.flush()
        self.drawn = len(lines)

    def _say_changes(self, states: Sequence[Progress]) -> None:
        for state in states:
            mark = state.state if state.ended else f"{state.state}:{state.stage}"
            if self.said.get(state.event_id) != mark:
                self.said[state.event_id] = mark
                self.stream.write(self._line(state) + "\n")
        self.stream.flush()

    def _line(self, state: Progress) -> str:
        share = 1.0 if state.ended else state.done / state.total if state.total else 0.0
        bar = "#" * round(share * BAR) + "." * (BAR - round(share * BAR))
        pages = f" {state.pages} p." if state.pages else ""
        note = state.reason or state.stage
        return f"[{bar}] {self.names[state.event_id][-48:]:<48} {state.state:<11}{pages} {note}".rstrip()


def wait_for_submissions(names: Mapping[UUID, str], seconds: float) -> list[Progress]:
    """Wait, with progress, until each has ended; past the bound the states are returned as they are.

    A database that is away for a while is waited for as well: the work goes on when it is back.
    """
    board = ProgressBoard(names)
    deadline = time.monotonic() + seconds
    pause = 0.3
    while True:
        try:
            states = submissions_progress(list(names))
        except OperationalError:
            if time.monotonic() > deadline:
                raise
            connections.close_all()
            time.sleep(pause)
            continue
        board.show(states)
        if all(state.ended for state in states) or time.monotonic() > deadline:
            return states
        time.sleep(pause)
        pause = min(2.0, pause * 1.2)
