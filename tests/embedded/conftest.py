"""A home of its own for tests that stop, kill and break services."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmemo_site.embedded import process
from docmemo_site.embedded.control import remove
from docmemo_site.embedded.home import Home
from docmemo_site.embedded.state import load_or_create


@pytest.fixture
def own_home() -> Iterator[Home]:
    """An empty home whose services are stopped and whose data is deleted afterwards."""
    home = Home(Path(tempfile.mkdtemp(prefix="docmemo-own-")))
    load_or_create(home, durable=False)
    yield home
    remove(home)
    assert process.marked(home) == []


def kill_everything(home: Home) -> None:
    """SIGKILL to every process of `home` at once, as when a machine's processes are swept away."""
    victims = process.marked(home)
    for one in victims:
        try:
            os.kill(one.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    assert victims
    assert process.wait_until(lambda: not any(one.alive() for one in victims), seconds=10)
