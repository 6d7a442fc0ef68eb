"""The broker that sign-in counts on."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def broker(celery_broker: str) -> None:
    """It runs."""
