"""Identifiers: UUID version 7, made here so that no database feature is needed."""

from __future__ import annotations

import uuid

from uuid_utils import compat


def new_id() -> uuid.UUID:
    """A new time-ordered UUID (version 7)."""
    return compat.uuid7()
