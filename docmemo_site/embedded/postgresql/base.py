"""The backend itself; see the package."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base

from docmemo_site.embedded.home import Home
from docmemo_site.embedded.state import load


class DatabaseWrapper(base.DatabaseWrapper):
    """A process that began with other passwords picks the new ones up when it connects again."""

    def get_connection_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super().get_connection_params()
        known = load(Home(settings.DOCMEMO_HOME))
        role = str(params.get("user", "")).removeprefix("docmemo_")
        password = getattr(known, f"{role}_password", "")
        return {**params, "password": password} if password else params
