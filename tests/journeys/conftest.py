"""One installation for all journeys; it is stopped and removed at the end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmemo_site.embedded.control import remove
from docmemo_site.embedded.home import Home
from tests.journeys.installation import Installation


@pytest.fixture(scope="session")
def installation() -> Iterator[Installation]:
    home = Path(tempfile.mkdtemp(prefix="docmemo-journey-"))
    yield Installation(home)
    remove(Home(home))


@pytest.fixture(scope="session")
def quickstarted(installation: Installation) -> Installation:
    """The installation after the README's first command."""
    done = installation.run("quickstart", "--no-serve")
    assert done.code == 0, done.output[-3000:] + done.errors[-3000:]
    return installation
