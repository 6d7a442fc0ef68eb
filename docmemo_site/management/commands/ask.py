"""`manage.py ask`: ask as a person, and see the answer with its citations, or why there is none."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.terminal import person_named, print_json, services_ready
from ingestion.domain.cleaning import inert
from ingestion.selectors.evidence import readable_documents
from ingestion.selectors.explanation import person_of
from ingestion.selectors.visibility import asker_for
from qa.gate.reasons import sentence
from qa.models import Run
from qa.selectors.outcome import run_outcome
from qa.services.answering import run_execute
from qa.services.questions import QuestionRefused, question_ask, question_ask_as_of


class Command(BaseCommand):
    help = "Ask a question as a person; prints the answer with its citations, or why there is none. Exit 0 for every honest end."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question", metavar="QUESTION")
        parser.add_argument("--as", required=True, dest="user", metavar="USER", help="whose rights count")
        parser.add_argument("--corpus", required=True, metavar="SLUG")
        parser.add_argument("--document", metavar="ID", help="only this document: its id or its external id")
        parser.add_argument(
            "--as-of", metavar="TIME", type=moment, help="as the corpus stood then, under the rights that USER had then; needs --auditor"
        )
        parser.add_argument("--auditor", metavar="AUDITOR", help="who looks at the past: an auditor of USER's organisation")
        parser.add_argument("--seed", type=int, help="of the run's draws, to repeat a run")
        parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write)
        try:
            run = _asked(options)
        except QuestionRefused as error:
            raise CommandError(str(error), returncode=2) from error
        run_execute(run.id)
        run.refresh_from_db()
        outcome = run_outcome(run)
        if options["json"]:
            print_json(self.stdout, outcome)
        else:
            self.stdout.write(outcome_text(outcome))
        if run.state != "done":
            raise CommandError(f"The run ended as {run.state}: {run.reason}")


def moment(text: str) -> datetime:
    """A moment in ISO 8601; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text} is no moment such as 2026-11-30T09:00:00Z") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _asked(options: dict[str, Any]) -> Run:
    """The waiting run: a person's own question, or an auditor's about what he could have been answered then."""
    fields = {"corpus_slug": options["corpus"], "text": options["question"], "seed": options["seed"]}
    if (options["as_of"] is None) != (options["auditor"] is None):
        raise CommandError("--as-of and --auditor belong together.", returncode=2)
    if options["as_of"] is not None:
        auditor = person_named(options["auditor"])
        person = person_of(auditor.organisation, options["user"])
        if person is None:
            raise QuestionRefused("Only an auditor of the person's organisation may ask as of a moment.")
        document = _uuid(options["document"]) if options["document"] else None
        return question_ask_as_of(auditor=auditor, person=person, at=options["as_of"], document_id=document, **fields)
    user = person_named(options["user"])
    document = _document(options["document"], user, options["corpus"]) if options["document"] else None
    return question_ask(user=user, document_id=document, **fields)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise CommandError("As of a moment, a document is named by its id.", returncode=2) from error


def _document(text: str, user: Any, corpus: str) -> UUID:
    """The document's id; one that is not readable for the person is asked for all the same and gives the same end as an absent one."""
    try:
        return UUID(text)
    except ValueError:
        documents = readable_documents(asker_for(user), corpus)
        return next((found for found, _, external_id in documents if external_id == text), UUID(int=0))


def outcome_text(outcome: dict[str, Any]) -> str:
    """The outcome for a person at a terminal."""
    if outcome["as_of"]:
        return f"{_label(outcome['as_of'])}\n{_end_text(outcome)}"
    return _end_text(outcome)


def _label(past: dict[str, Any]) -> str:
    gone = f"\nDocuments that he could read then and that are no longer held: {', '.join(past['no_longer_held'])}."
    return (
        f"AS OF {past['at']}, under the rights that {past['for']} had then; read by the auditor {past['read_by']}. "
        f"This is not what holds today.{gone if past['no_longer_held'] else ''}"
    )


def _end_text(outcome: dict[str, Any]) -> str:
    if outcome["verdict"] != "answered":
        return f"{outcome['verdict'].replace('_', ' ')}: {sentence(outcome['reason'])}\n(run {outcome['run']})"
    lines = []
    for number, claim in enumerate(outcome["claims"], start=1):
        lines.append(f"{number}. {_line(claim['text']) or '(its evidence is not available any more)'}")
        for citation in claim["citations"]:
            label = f' (printed "{citation["label"]}")' if citation["label"] not in ("", str(citation["page"])) else ""
            quote = _line(inert(citation["quote"]))
            lines.append(f'     {_line(citation["title"])}, version {citation["version"]}, page {citation["page"]}{label}: "{quote}"')
    lines.append(f"({outcome['rounds']} rounds, run {outcome['run']})")
    return "\n".join(lines)


def _line(text: str | None) -> str:
    """On one line: a line break of a document cannot pass for a line of ours."""
    return " ".join((text or "").split())
