"""`manage.py access`: who may read what and why; grants and revocations, with what they would do before they are made."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.terminal import organisation_named, person_named, print_json, services_ready
from ingestion.models import Corpus, Document, User
from ingestion.selectors.console import AccessRow, access_lists
from ingestion.selectors.explanation import (
    CIRCUMSTANCES,
    Explanation,
    access_explanation,
    explanation_record,
    person_of,
)
from ingestion.selectors.visibility import manages_corpus
from ingestion.services.access_change import Change, ChangeRefused, Place, access_change, change_preview
from ingestion.services.access_preview import Preview, preview_record
from ingestion.services.corpora import PreviewStale

PEOPLE_SHOWN = 20
NOTHING_HERE = "There is no such document or corpus, or it is not this person's to manage."


class Command(BaseCommand):
    help = (
        "Explain why a person may or may not see a document; show the lists in force; grant (put names onto a level's allow or deny "
        "list) and revoke (take them off) as a person who manages the corpus, with --dry-run to see what it would do."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        explain = actions.add_parser("explain", help="which list decides, and through which groups")
        explain.add_argument("--person", required=True, metavar="USER")
        explain.add_argument("--document", required=True, metavar="ID")
        explain.add_argument("--page", type=int, metavar="N")
        explain.add_argument("--as", dest="user", metavar="USER", help="the manager who asks; names are then shown as he may know them")
        show = actions.add_parser("show", help="the lists in force, of a corpus or of a document and its pages")
        show.add_argument("--as", dest="user", metavar="USER", help="the manager who asks")
        _place_arguments(show)
        for name, verb in (("grant", "put names onto"), ("revoke", "take names off")):
            change = actions.add_parser(name, help=f"{verb} a level's list")
            change.add_argument("--as", dest="user", required=True, metavar="USER", help="the manager who does it")
            _place_arguments(change)
            change.add_argument("--page", type=int, metavar="N")
            change.add_argument("--allow", action="append", default=[], metavar="NAME", help=f"{verb} the allow list; may be repeated")
            change.add_argument("--deny", action="append", default=[], metavar="NAME", help=f"{verb} the deny list; may be repeated")
            change.add_argument("--dry-run", action="store_true", help="say what it would do, and to whom; write nothing")
            change.add_argument("--seen", metavar="DIGEST", help="of a dry run: refuse when the effect would be another one now")
            switch = "--narrow" if name == "grant" else "--widen"
            change.add_argument(switch, action="store_true", help="let this level begin, or cease, to have an allow list")
        for each in actions.choices.values():
            each.add_argument("--organisation", metavar="SLUG")
            each.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        {"explain": self._explain, "show": self._show, "grant": self._change, "revoke": self._change}[options["action"]](options)

    def _explain(self, options: dict[str, Any]) -> None:
        viewer = person_named(options["user"]) if options["user"] else None
        organisation = viewer.organisation if viewer else organisation_named(options["organisation"])
        document = _document(organisation, options["document"], viewer)
        person = person_of(organisation, options["person"])
        if person is None:
            raise CommandError("There is no such person in the organisation.")
        explanation = access_explanation(person, document, options["page"], viewer)
        if options["json"]:
            print_json(self.stdout, explanation_record(explanation))
        else:
            self.stdout.write(explanation_text(explanation))

    def _show(self, options: dict[str, Any]) -> None:
        viewer = person_named(options["user"]) if options["user"] else None
        place = _place({**options, "page": None}, viewer)
        lists = access_lists(place.corpus, place.document)
        if options["json"]:
            rows = [{"page": row.page_number, "allow": row.allow, "deny": row.deny} for row in lists]
            print_json(self.stdout, {"corpus": place.corpus.slug, "document": place.document and place.document.id, "lists": rows})
        else:
            self.stdout.write("\n".join(map(_list_text, lists)) or "No list of its own: everyone whom the level above lets in.")

    def _change(self, options: dict[str, Any]) -> None:
        manager = person_named(options["user"])
        place = _place(options, manager)
        change = Change(
            grant=options["action"] == "grant", allow=tuple(options["allow"]), deny=tuple(options["deny"]),
            narrow=options.get("narrow", False), widen=options.get("widen", False),
        )  # fmt: skip
        try:
            if options["dry_run"]:
                self._preview(change_preview(manager=manager, place=place, change=change), options["json"])
                return
            changed = access_change(manager=manager, place=place, change=change, seen=options["seen"])
        except PreviewStale as stale:
            self._preview(stale.fresh, options["json"])
            raise CommandError(f"Nothing was changed. {stale.message}", returncode=3) from stale
        except ChangeRefused as refused:
            raise CommandError(refused.message, returncode=2) from refused
        if options["json"]:
            print_json(self.stdout, {"pages_changed": changed})
        else:
            self.stdout.write(f"The list is in force; the rights of {changed} pages changed.")

    def _preview(self, preview: Preview, as_json: bool) -> None:
        if as_json:
            print_json(self.stdout, preview_record(preview))
        else:
            self.stdout.write(preview_text(preview))


def _place_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--corpus", metavar="SLUG")
    parser.add_argument("--document", metavar="ID")


def _place(options: dict[str, Any], viewer: User | None) -> Place:
    organisation = viewer.organisation if viewer else organisation_named(options["organisation"])
    if options["page"] is not None and (options["page"] < 1 or not options["document"]):
        raise CommandError("A page is a number from 1, of a document that is named too.", returncode=2)
    if options["document"]:
        document = _document(organisation, options["document"], viewer)
        if options["corpus"] and document.corpus.slug != options["corpus"]:
            raise CommandError(NOTHING_HERE)
        return Place(document.corpus, document, options["page"])
    corpus = Corpus.objects.filter(organisation=organisation, slug=options["corpus"] or "", deleted_at__isnull=True).first()
    if corpus is None or (viewer is not None and not manages_corpus(viewer, corpus)):
        raise CommandError(NOTHING_HERE)
    return Place(corpus)


def _document(organisation: Any, text: str, viewer: User | None) -> Document:
    try:
        found = Document.objects.filter(organisation=organisation, id=UUID(text)).select_related("corpus__organisation").first()
    except ValueError:
        found = None
    if found is None or (viewer is not None and not manages_corpus(viewer, found.corpus)):
        raise CommandError(NOTHING_HERE)
    return found


def explanation_text(explanation: Explanation) -> str:
    """The derivation for a person at a terminal."""
    what = f"page {explanation.page_number} of the document" if explanation.page_number else "the document"
    lines = [f"{explanation.person} {'may see' if explanation.visible else 'may not see'} {what} {explanation.document}."]
    if explanation.circumstance:
        lines.append(CIRCUMSTANCES[explanation.circumstance])
    for part in explanation.parts:
        lines.append(f"page {', '.join(part.pages)}: {part.sentence}")
        lines += [f"    {step.sentence}" for step in part.steps]
    return "\n".join(lines)


def preview_text(preview: Preview) -> str:
    """The preview for a person at a terminal."""
    lines = [f"{len(preview.gaining)} people would see more, {len(preview.losing)} would see less."]
    for person in preview.people[:PEOPLE_SHOWN]:
        lines.append(
            f"  {person.username}: +{person.pages_gained} -{person.pages_lost} pages, "
            f"+{len(person.documents_gained)} -{len(person.documents_lost)} documents"
        )
    if len(preview.people) > PEOPLE_SHOWN:
        lines.append(f"  and {len(preview.people) - PEOPLE_SHOWN} more")
    return "\n".join([*lines, f"digest {preview.digest}"])


def _list_text(row: AccessRow) -> str:
    place = f"page {row.page_number}: " if row.page_number else ""
    allow = "everyone whom the level above lets in" if row.allow is None else ", ".join(row.allow) or "nobody"
    return f"{place}may read: {allow}; may never read: {', '.join(row.deny) or 'nobody is named'}"
