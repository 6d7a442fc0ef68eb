"""`manage.py evaluate`: measure retrieval, the loop and the verdicts on a set of documents with gold pages."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from docmemo_site.intake import LocalFile, corpus_ensure, take_in
from docmemo_site.terminal import organisation_named, print_json, services_ready
from ingestion.models import Corpus, Document, User
from ingestion.seams import load
from ingestion.selectors.evidence import evidence_scope
from ingestion.selectors.search import evidence_search
from ingestion.selectors.visibility import asker_for
from ingestion.services.people import person_create
from qa.evaluation.datasets import GoldQuestion, GoldSet, read_gold_set, subset_of
from qa.evaluation.report import Measured, report, table
from qa.models import Citation
from qa.services.answering import run_execute
from qa.services.questions import question_ask

GROUP = "evaluation"
USER = "evaluator"


class Command(BaseCommand):
    help = (
        "Ingest an evaluation set once (DIR with pdfs/, docs.jsonl, questions.jsonl) and report evidence recall of the first "
        "retrieval and after each round, and the verdicts, as JSON and as a table."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", type=Path, metavar="DIR")
        parser.add_argument("--corpus", default="evaluation", metavar="SLUG", help="where the documents are kept (default evaluation)")
        parser.add_argument("--organisation", metavar="SLUG")
        parser.add_argument("--subset", type=int, metavar="N", help="only the questions of the first N documents by name")
        parser.add_argument("--seed", type=int, default=1, help="of the loop's draws (default 1)")
        parser.add_argument("--no-loop", action="store_true", help="measure the first retrieval only")
        parser.add_argument("--no-library", action="store_true", help="leave out the search over all documents at once")
        parser.add_argument("--output", type=Path, metavar="FILE", help="write the report there as JSON")
        parser.add_argument("--json", action="store_true", help="print the report to standard output as JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            gold = read_gold_set(options["directory"])
        except (OSError, ValueError, KeyError) as error:
            raise CommandError(f"{options['directory']} is no evaluation set: {error}", returncode=2) from error
        questions = subset_of(gold.questions, options["subset"]) if options["subset"] else gold.questions
        services_ready(self.stderr.write)
        organisation = organisation_named(options["organisation"], create=True)
        corpus, _ = corpus_ensure(organisation, options["corpus"], [GROUP], actor="evaluate")
        user = User.objects.filter(username=USER, organisation=organisation).first() or person_create(
            organisation=organisation, username=USER, password=None, groups=[GROUP], actor="evaluate"
        )
        documents = self._ingest(gold, corpus, sorted({question.document for question in questions}))
        measured = self._measure(questions, documents, corpus, user, options)
        value = report(measured)
        value["documents"] = len(documents)
        if options["output"]:
            options["output"].write_text(json.dumps(value, indent=1), encoding="utf-8")
        if options["json"]:
            print_json(self.stdout, value)
        else:
            self.stdout.write(table(value))

    def _ingest(self, gold: GoldSet, corpus: Corpus, names: list[str]) -> dict[str, UUID]:
        """The documents' ids; those that are not live yet are taken in first."""
        live = set(Document.objects.filter(corpus=corpus, live_build__isnull=False).values_list("external_id", flat=True))
        missing = [LocalFile(gold.pdf(name), name) for name in names if name not in live]
        taken = take_in(missing, corpus, allow=[], deny=[], actor="evaluate", seconds=4 * 3600) if missing else []
        for one in taken:
            if one.state != "published":
                self.stderr.write(f"not published: {one.path}: {one.state} {one.reason}")
        return dict(
            Document.objects.filter(corpus=corpus, external_id__in=names, live_build__isnull=False).values_list("external_id", "id")
        )

    def _measure(
        self, questions: tuple[GoldQuestion, ...], documents: dict[str, UUID], corpus: Corpus, user: User, options: dict[str, Any]
    ) -> list[Measured]:
        embedder, asker = load("page_embedder"), asker_for(user)
        scopes = {name: evidence_scope(asker, corpus.slug, document) for name, document in documents.items()}
        library = None if options["no_library"] else evidence_scope(asker, corpus.slug)
        names = {document: name for name, document in documents.items()}
        measured = []
        for number, question in enumerate(questions, start=1):
            if question.document not in documents:
                measured.append(Measured(question, ()))
                continue
            scope = scopes[question.document]
            found = evidence_search(asker, scope, question.question, embedder, scope.visible_pages)
            everywhere: tuple[tuple[str, int], ...] = ()
            if library is not None and question.pages:
                best = evidence_search(asker, library, question.question, embedder, 20)
                everywhere = tuple((names.get(c.document_id, ""), c.number) for c in best)
            one = Measured(question, tuple(c.number for c in found), everywhere)
            measured.append(one if options["no_loop"] else self._ask(one, documents[question.document], corpus, user, options["seed"]))
            if number % 10 == 0 or number == len(questions):
                print(f"{number} of {len(questions)} questions", file=sys.stderr, flush=True)
        return measured

    def _ask(self, one: Measured, document: UUID, corpus: Corpus, user: User, seed: int) -> Measured:
        started = time.monotonic()
        run = question_ask(user=user, corpus_slug=corpus.slug, text=one.question.question[:1000], document_id=document, seed=seed)
        run_execute(run.id)
        run.refresh_from_db()
        seconds = time.monotonic() - started
        rounds = tuple(tuple(r.record.get("page_numbers", ())) for r in run.rounds.order_by("number"))
        cited = tuple(Citation.objects.filter(claim__answer__run=run).values_list("page_number", flat=True))
        return Measured(one.question, one.ranking, one.library, rounds, run.verdict, run.reason, cited, seconds)
