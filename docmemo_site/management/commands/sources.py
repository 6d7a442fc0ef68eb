"""`manage.py sources`: where documents come from, how each source stands, and the tokens of programs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from docmemo_site.intake import corpus_ensure
from docmemo_site.terminal import organisation_named, print_json, services_ready
from ingestion.models import Organisation, SourceConfiguration
from ingestion.models.source import PUSH
from ingestion.seams.connector import Misconfigured
from ingestion.selectors.sources import source_rows
from ingestion.services.source_sync import source_sync
from ingestion.services.sources import source_configure, source_pause, source_remove, token_issue, token_revoke

ACTOR = "command-line"
GOOD = ("complete", "busy")


class Command(BaseCommand):
    help = (
        "Sources of documents: list, add (or change), remove, sync now, and tokens for the HTTP API. Exit 0: done; 1: a sync did not "
        "see everything, held deletions or refused a document; 2: what was asked cannot be done."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        made = {
            "list": verbs.add_parser("list", help="every source and how it stands"),
            "add": verbs.add_parser("add", help="add a source, or change one"),
            "remove": verbs.add_parser("remove", help="forget a source; its documents stay unless --withdraw"),
            "sync-now": verbs.add_parser("sync-now", help="ask sources now, without waiting for their turn"),
            "pause": verbs.add_parser("pause", help="stop asking a source"),
            "resume": verbs.add_parser("resume", help="ask it again"),
            "token": verbs.add_parser("token", help="make a token with which a program hands documents in; it is shown once"),
            "revoke": verbs.add_parser("revoke", help="end a token"),
        }
        for verb in made.values():
            verb.add_argument("--organisation", metavar="SLUG", help="needed only where there are several")
            verb.add_argument("--json", action="store_true", help="print one JSON value to standard output")
        for verb in ("add", "remove", "pause", "resume", "token", "revoke"):
            made[verb].add_argument("name", metavar="NAME")
        _arguments_of_add(made["add"])
        made["remove"].add_argument("--withdraw", action="store_true", help="take its documents back as well")
        made["sync-now"].add_argument("names", nargs="*", metavar="NAME", help="all, when none is named")
        made["sync-now"].add_argument("--confirm-deletions", action="store_true", help="let many deletions at once take effect")
        made["token"].add_argument("--label", default="default", help="by which it can be ended (default: default)")
        made["token"].add_argument("--days", type=int, metavar="N", help="it ends by itself after so many days")
        made["revoke"].add_argument("--label", default="default")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        organisation = organisation_named(options["organisation"], create=options["verb"] == "add")
        value, text, good = getattr(self, f"_{options['verb'].replace('-', '_')}")(organisation, options)
        if options["json"]:
            print_json(self.stdout, value)
        else:
            self.stdout.write(text)
        if not good:
            sys.exit(1)

    def _list(self, organisation: Organisation, _options: dict[str, Any]) -> tuple[Any, str, bool]:
        rows = source_rows(organisation)
        lines = [
            f"{row.name:<20} {row.kind:<12} {row.corpus:<16} {row.documents:>6} documents  "
            f"{'paused' if row.paused else row.outcome or '-':<18} {row.message}".rstrip()
            for row in rows
        ]
        return {"sources": [asdict(row) for row in rows]}, "\n".join([*lines, f"{len(rows)} sources"]), True

    @transaction.atomic
    def _add(self, organisation: Organisation, options: dict[str, Any]) -> tuple[Any, str, bool]:
        corpus, made = corpus_ensure(organisation, options["corpus"], options["allow"], actor=ACTOR)
        if made and not options["allow"]:
            self.stderr.write(f"The corpus {corpus.slug} is new and has no allow list: nobody can read in it yet (--allow TAG).")
        try:
            source_configure(
                actor=ACTOR, corpus=corpus, name=options["name"], kind=options["kind"], options=_pairs(options["option"]),
                secrets=_pairs(options["secret"], plain=True), allow=options["allow"] or None, deny=options["deny"],
                interval_seconds=options["interval"],
            )  # fmt: skip
        except Misconfigured as error:
            raise CommandError(str(error), returncode=2) from error
        row = next(row for row in source_rows(organisation) if row.name == options["name"])
        return asdict(row), f"{row.name}: {row.kind}, into {row.corpus}, every {row.interval_seconds} s", True

    def _remove(self, organisation: Organisation, options: dict[str, Any]) -> tuple[Any, str, bool]:
        found = _configured(organisation, options["name"])
        gone = source_remove(actor=ACTOR, source=found.source, withdraw=options["withdraw"])
        return {"removed": options["name"], "withdrawn": gone}, f"{options['name']} is removed; {gone} documents are being taken back", True

    def _pause(self, organisation: Organisation, options: dict[str, Any]) -> tuple[Any, str, bool]:
        paused = options["verb"] == "pause"
        source_pause(actor=ACTOR, source=_configured(organisation, options["name"]).source, paused=paused)
        return {"source": options["name"], "paused": paused}, f"{options['name']} is {'paused' if paused else 'asked again'}", True

    _resume = _pause

    def _sync_now(self, organisation: Organisation, options: dict[str, Any]) -> tuple[Any, str, bool]:
        if options["names"]:
            wanted = [_configured(organisation, name) for name in options["names"]]
        else:
            rows = SourceConfiguration.objects.filter(source__organisation=organisation, enabled=True).exclude(kind=PUSH)
            wanted = list(rows.select_related("source").order_by("source__name"))
        outcomes = {
            one.source.name: source_sync(
                configuration=one, actor=ACTOR, confirm_deletions=options["confirm_deletions"],
                say=lambda line, name=one.source.name: self.stderr.write(f"{name}: {line}"),
            )
            for one in wanted
        }  # fmt: skip
        lines = [
            f"{name}: {o.state}, {o.listed} listed, {o.submitted} sent, {o.access_changed} lists changed, {o.deleted} deleted, "
            f"{len(o.refused)} refused. {o.message}".rstrip()
            for name, o in outcomes.items()
        ]
        good = all(outcome.state in GOOD and not outcome.refused for outcome in outcomes.values())
        return {"sources": {name: asdict(outcome) for name, outcome in outcomes.items()}}, "\n".join(lines), good

    def _token(self, organisation: Organisation, options: dict[str, Any]) -> tuple[Any, str, bool]:
        found = _configured(organisation, options["name"])
        ends = timezone.now() + timedelta(days=options["days"]) if options["days"] else None
        token = token_issue(actor=ACTOR, source=found.source, name=options["label"], expires_at=ends)
        self.stderr.write("Keep this token now: it is not shown again.")
        return {"source": options["name"], "label": options["label"], "token": token, "expires_at": ends}, token, True

    def _revoke(self, organisation: Organisation, options: dict[str, Any]) -> tuple[Any, str, bool]:
        ended = token_revoke(actor=ACTOR, source=_configured(organisation, options["name"]).source, name=options["label"])
        if not ended:
            raise CommandError(f"{options['name']} has no token {options['label']}.", returncode=2)
        return {"revoked": ended}, f"{ended} tokens ended", True


def _arguments_of_add(add: ArgumentParser) -> None:
    add.add_argument("--kind", required=True, help="folder, object_store, or push (a program that sends by itself)")
    add.add_argument("--corpus", required=True, metavar="SLUG", help="made when it is missing, with --allow as its ceiling")
    add.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="of the connector; lists by commas; repeatable")
    add.add_argument("--secret", action="append", default=[], metavar="NAME=VARIABLE", help="DOCMEMO_SOURCE_SECRET_...; repeatable")
    add.add_argument("--allow", action="append", default=[], metavar="TAG", help="a group or user:NAME that may read; repeatable")
    add.add_argument("--deny", action="append", default=[], metavar="TAG", help="a group or user:NAME that may not; repeatable")
    add.add_argument("--interval", type=int, default=60, metavar="SECONDS", help="between two syncs (default 60)")


def _configured(organisation: Organisation, name: str) -> SourceConfiguration:
    found = SourceConfiguration.objects.filter(source__organisation=organisation, source__name=name).select_related("source").first()
    if found is None:
        raise CommandError(f"There is no source {name}.", returncode=2)
    return found


def _pairs(given: list[str], plain: bool = False) -> dict[str, Any]:
    """`name=value` as a mapping; numbers as numbers and `patterns` as a list, unless `plain`."""
    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise CommandError(f"{one} is not NAME=VALUE.", returncode=2)
        if plain:
            found[name] = value
        elif name == "patterns":
            found[name] = [part.strip() for part in value.split(",")]
        else:
            found[name] = int(value) if value.isascii() and value.isdigit() else value
    return found
