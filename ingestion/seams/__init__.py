"""Seams: one folder for each outside thing, its contract in `__init__.py`, one file an adapter, the fake beside them.

Settings name the adapter of each alias, as Django's CACHES and STORAGES do:

    SEAMS = {"blobs": {"BACKEND": "ingestion.seams.blobs.filesystem.FilesystemBlobs", "OPTIONS": {"root": ...}}, ...}
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string


@cache
def load(alias: str) -> Any:
    """The adapter that the settings name for `alias`, made once in a process.

    Raises `KeyError` for an alias that the settings do not know and `ImportError` for a class that is not there.
    """
    entry = settings.SEAMS[alias]
    return import_string(entry["BACKEND"])(**entry.get("OPTIONS", {}))
