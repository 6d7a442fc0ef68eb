"""A corpus with a document, a question that was answered from it and one that was not, and clients for the cast."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.test import Client

from ingestion.models import Corpus, Document, Job, Page, Role, Source, User
from ingestion.models.source import PUSH
from ingestion.seams import load
from ingestion.services.people import person_create, role_grant
from ingestion.services.pipeline import pipeline_fingerprint
from ingestion.services.sources import source_configure
from qa.models import Citation, Run
from qa.services.answering import run_execute
from qa.services.questions import question_ask
from tests.ingestion.fakes import Workbench
from tests.people import PASSWORD, Cast

TEXT = "\f".join(
    [
        "INTRODUCTION\nThe company makes pumps in Graz.",
        "PRICES\nThe pump X-200 costs 1200 euro.",
        "SERVICE\nService is free in year one.",
    ]
)
TITLE = "Price list of pumps"
QUESTION = "What does the pump X-200 cost?"
UNANSWERED = "Who is the managing director?"
ONNX = {"BACKEND": "ingestion.seams.page_embedder.onnx_text.OnnxTextEmbedder", "OPTIONS": {"folder": None}}


@dataclass
class Scene:
    bench: Workbench
    owner: User
    outsider: User
    corpus: Corpus
    document: Document
    answered: Run
    unanswered: Run

    @property
    def cast(self) -> Cast:
        return self.bench.cast

    @property
    def citation(self) -> Citation:
        return Citation.objects.get(claim__answer__run=self.answered)

    @property
    def page(self) -> Page:
        return Page.objects.get(build_id=Document.objects.get(id=self.document.id).live_build_id, number=2)

    @property
    def job(self) -> Job:
        return Job.objects.filter(document=self.document).latest("created_at")

    @property
    def source(self) -> Source:
        """A program's source of the corpus, registered when it is first asked for."""
        known = Source.objects.filter(name="program", configuration__isnull=False).first()
        return known or source_configure(actor="test", corpus=self.corpus, name="program", kind=PUSH).source

    def user(self, who: str) -> User:
        return {"owner": self.owner, "outsider": self.outsider}.get(who) or getattr(self.cast, who)

    def client(self, who: str) -> Client:
        """A browser in which this person has signed in; nobody has for `anonymous`."""
        client = Client()
        if who != "anonymous":
            client.force_login(self.user(who))
        return client

    def ask(self, who: str, text: str, slug: str = "library", document: UUID | None = None) -> Run:
        """A question brought to its end."""
        run = question_ask(user=self.user(who), corpus_slug=slug, text=text, document_id=document, seed=7)
        run_execute(run.id)
        run.refresh_from_db()
        return run


@pytest.fixture
def scene(bench: Workbench, celery_broker: str, settings: LazySettings) -> Scene:
    """The embedder is the product's own, so that the reader reads as it does in the product; documents are plain text.

    Failed sign-ins are counted in Valkey, so it has to run.
    """
    settings.SEAMS = {**settings.SEAMS, "page_embedder": ONNX}
    load.cache_clear()
    pipeline_fingerprint.cache_clear()
    cache.clear()
    corpus = bench.corpus()
    owner = person_create(organisation=bench.cast.organisation, username="olive", password=PASSWORD)
    role_grant(user=owner, role=Role.CORPUS_OWNER, corpus=corpus, actor="test")
    roles = (Role.ORGANISATION_ADMIN, Role.AUDITOR)  # of the other organisation
    outsider = person_create(organisation=bench.cast.elsewhere, username="oscar", password=PASSWORD, groups=("staff",), roles=roles)
    document = bench.publish(TEXT, external_id="prices.pdf", title=TITLE)
    made = Scene(bench, owner, outsider, corpus, document, None, None)  # type: ignore[arg-type]
    made.answered = made.ask("alice", QUESTION)
    made.unanswered = made.ask("alice", UNANSWERED)
    assert (made.answered.verdict, made.unanswered.verdict != "answered") == ("answered", True), made.answered.reason
    return made
