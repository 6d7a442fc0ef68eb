"""`manage.py migrate`, as the role that owns the tables."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.commands.migrate import Command as DjangoMigrate


class Command(DjangoMigrate):
    """Django's command, on the connection `migrator` unless another one is named."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        # The application's own role may not make or change tables.
        parser.set_defaults(database="migrator")
