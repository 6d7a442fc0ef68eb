"""Runs the watcher until it is told to stop."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from workers.watcher import main


class Command(BaseCommand):
    help = "Runs the watcher until it is told to stop (SIGTERM)."

    def handle(self, *args: Any, **options: Any) -> None:
        main()
