"""A pipeline of fakes: documents are plain text, work is done by hand, so each step can be looked at."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest
from django.conf import LazySettings

from ingestion.domain.events import INTAKE_TOPICS
from ingestion.models import Corpus, Document, Job, OutboxEvent, Page, User
from ingestion.seams import load
from ingestion.seams.event_bus import Message
from ingestion.seams.task_queue.memory import MemoryQueue
from ingestion.selectors.evidence import page_visible
from ingestion.selectors.visibility import asker_for
from ingestion.services.corpora import corpus_create
from ingestion.services.documents import document_submit
from ingestion.services.events import event_apply, event_receive
from ingestion.services.pipeline import pipeline_fingerprint, stage_run_execute
from ingestion.services.purge import RUN_PURGE_TASK, document_purge
from tests.people import Cast, make_cast

FAKE_SEAMS = {
    "renderer": {"BACKEND": "ingestion.seams.renderer.fake.TextRenderer"},
    "parser": {"BACKEND": "ingestion.seams.parser.fake.TextParser"},
    "page_embedder": {"BACKEND": "ingestion.seams.page_embedder.fake.HashedWordsEmbedder"},
    "task_queue": {"BACKEND": "ingestion.seams.task_queue.memory.MemoryQueue"},
}


class Workbench:
    """Hands documents in, carries the outbox to the inbox, and works off the task queue."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.offset = 0

    @property
    def queue(self) -> MemoryQueue:
        return load("task_queue")

    def corpus(self, slug: str = "library", allow: tuple[str, ...] = ("staff",), deny: tuple[str, ...] = ()) -> Corpus:
        found = Corpus.objects.filter(organisation=self.cast.organisation, slug=slug).first()
        return found or corpus_create(
            actor="test", organisation=self.cast.organisation, slug=slug, allow=allow, deny=deny
        )

    def submit(self, text: str | bytes, external_id: str = "a.pdf", **fields: object) -> UUID:
        corpus = fields.pop("corpus", None) or self.corpus()
        content = text.encode() if isinstance(text, str) else text
        return document_submit(
            organisation=self.cast.organisation, actor="test", corpus=corpus, external_id=external_id, content=content, **fields
        )

    def messages(self) -> list[Message]:
        """What the outbox would publish to the topic of documents, and marks it as published."""
        found = []
        for row in OutboxEvent.objects.filter(topic__in=INTAKE_TOPICS, published_at__isnull=True).order_by("id"):
            self.offset += 1
            found.append(Message(row.topic, row.key.encode(), json.dumps(row.payload).encode(), {}, 0, self.offset))
            row.published_at = row.created_at
            row.save()
        return found

    def deliver(self) -> None:
        for message in self.messages():
            inbox_id = event_receive(message)
            if inbox_id:
                event_apply(inbox_id)

    def work(self, limit: int = 1000) -> int:
        """Do every task that was offered; returns how many."""
        done = 0
        while done < limit and (task := self.queue.take()):
            name, (identifier, *_) = task[0], task[1]
            if name == RUN_PURGE_TASK:
                document_purge(UUID(identifier))
            else:
                stage_run_execute(UUID(identifier), "test")
            done += 1
        return done

    def publish(self, text: str | bytes, external_id: str = "a.pdf", **fields: object) -> Document:
        """The whole way of one document."""
        self.submit(text, external_id, **fields)
        self.deliver()
        self.work()
        return Document.objects.get(external_id=external_id, corpus__organisation=self.cast.organisation)

    def sees(self, username: str, document: Document) -> bool:
        """Whether the person may see a page of the live version."""
        document.refresh_from_db()
        pages = set(Page.objects.filter(build=document.live_build).values_list("id", flat=True))
        return bool(page_visible(asker_for(User.objects.get(username=username)), pages))

    def newest_job(self) -> Job:
        return Job.objects.order_by("-created_at").first()


@pytest.fixture
def bench(committed_db: None, settings: LazySettings, tmp_path: Path) -> Workbench:
    settings.SEAMS = {
        **settings.SEAMS,
        **FAKE_SEAMS,
        "blobs": {"BACKEND": "ingestion.seams.blobs.filesystem.FilesystemBlobs", "OPTIONS": {"root": tmp_path / "blobs"}},
    }
    settings.PIPELINE = {**settings.PIPELINE, "AUDIT_HEADS_DIR": tmp_path / "heads", "PAGE_WINDOW": 2}
    load.cache_clear()
    pipeline_fingerprint.cache_clear()
    yield Workbench(make_cast())
    load.cache_clear()
    pipeline_fingerprint.cache_clear()
