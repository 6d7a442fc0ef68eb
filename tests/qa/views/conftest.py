"""The scene, with the brokers that sign-in counts and readiness ask."""

from __future__ import annotations

import pytest

from tests.ingestion.fakes import bench
from tests.qa.views.scene import scene

__all__ = ["bench", "scene"]


@pytest.fixture(autouse=True)
def brokers(celery_broker: str, kafka_broker: str) -> None:
    """Both run."""
