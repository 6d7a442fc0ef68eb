"""What the tests of access share: documents worked off in this process, and a scene with an answered question."""

import pytest

from tests.access.reading import papers
from tests.ingestion.fakes import bench
from tests.qa.views.scene import scene

__all__ = ["bench", "papers", "scene"]


@pytest.fixture(scope="session", autouse=True)
def _cache(celery_broker: str) -> None:
    """The cache, which counts failed sign-ins, is on the broker."""
