"""Two worlds with the same ids: everything as it was made, and the same without what a person may not know of."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connections
from django.test import Client

from ingestion.models import (
    BuildAccessCount,
    Corpus,
    Document,
    InboxEvent,
    OutboxEvent,
    Page,
    PageText,
    User,
)  # fmt: skip
from ingestion.selectors.evidence import snapshot
from ingestion.selectors.visibility import asker_for, visible_classes
from ingestion.services.corpora import access_replace, corpus_create
from ingestion.services.documents import document_submit
from ingestion.services.people import group_ensure, membership_start
from tests.conftest import KEPT_TABLES
from tests.qa.views.scene import Scene

PEOPLE = ("admin", "owner", "alice", "bob", "auditor", "mallory", "outsider")
TAGS = ("staff", "finance", "board", "user:alice", "user:bob")
SUBJECTS = ("pump", "valve", "boiler", "merger", "salary")


@dataclass
class World:
    """The scene with more documents under drawn lists, in two organisations, and browsers that stay signed in."""

    scene: Scene
    clients: dict[str, Client] = field(default_factory=dict)
    saved: dict[str, bytes] = field(default_factory=dict)

    def user(self, who: str) -> User:
        return self.scene.user(who)


def _words(draw: random.Random) -> str:
    subject = draw.choice(SUBJECTS)
    return "\f".join(
        f"{subject.upper()} {number}\nThe {subject} number {draw.randrange(1000)} costs {draw.randrange(9000)} euro."
        for number in range(draw.randrange(1, 4))
    ) or f"{subject.upper()}\nThe pump X-200 costs nothing."


def _submit(scene: Scene, corpus: Corpus, name: str, text: str, lists: tuple[list[str] | None, list[str]]) -> None:
    document_submit(
        organisation=corpus.organisation, actor="test", corpus=corpus, external_id=name, title=f"Title of {name}",
        content=text.encode(), allow=lists[0], deny=lists[1],
    )  # fmt: skip
    scene.bench.deliver()
    scene.bench.work()


def _lists(draw: random.Random, tags: tuple[str, ...]) -> tuple[list[str] | None, list[str]]:
    allow = None if draw.random() < 0.25 else draw.sample(tags, draw.randrange(0, 3))
    return allow, draw.sample(tags, draw.choice((0, 0, 1)))


def world_make(scene: Scene, seed: int) -> World:
    """Draw groups that nest (one cycle), corpora, documents and lists on all three levels; then sign everybody in."""
    draw = random.Random(seed)
    here, elsewhere = scene.cast.organisation, scene.cast.elsewhere
    groups = {name: group_ensure(organisation=here, name=name) for name in ("staff", "finance", "board")}
    membership_start(group=groups["finance"], member=groups["board"], actor="test")
    membership_start(group=groups["board"], member=groups["finance"], actor="test")
    if draw.random() < 0.5:
        membership_start(group=groups["finance"], member=scene.cast.bob.principal, actor="test")
    second = corpus_create(actor="test", organisation=here, slug="second", allow=draw.sample(TAGS[:3], 2), deny=())
    for number in range(4):
        corpus = draw.choice((scene.corpus, second))
        _submit(scene, corpus, f"drawn-{number}.pdf", _words(draw), _lists(draw, TAGS))
    # one that only its own page list hides, one that nobody of this organisation but the board may see
    merger = "MERGER\nThe pump X-200 is sold with the company for 9 euro."
    _submit(scene, scene.corpus, "board.pdf", merger, (["board"], ["user:alice"]))
    access_replace(actor="test", corpus=scene.corpus, document=scene.document, page_number=draw.choice((1, 2, 3)), allow=("finance",))
    theirs = corpus_create(actor="test", organisation=elsewhere, slug="library", allow=("staff",), deny=())
    _submit(scene, theirs, "prices.pdf", "PRICES\nThe pump X-200 costs 77 euro at the other company.", (None, []))
    world = World(scene)
    for who in (*PEOPLE, "anonymous"):
        world.clients[who] = scene.client(who)
    world.saved = _tables_read()
    return world


# --- taking away what a person may not know of -----------------------------------------------------------


def hide_what_tags_do_not_open(user: User) -> set[UUID]:
    """Remove every page, and every document without a page, that this person may not see. Returns the documents that went."""
    asker = asker_for(user)
    with snapshot(asker):
        classes = visible_classes(asker)
    Page.objects.using("migrator").exclude(access_class_id__in=classes).delete()
    BuildAccessCount.objects.using("migrator").exclude(access_class_id__in=classes).delete()
    return _documents_remove(Document.objects.exclude(pages__isnull=False))


def hide_other_organisations(user: User) -> set[UUID]:
    """Remove every document of other organisations."""
    return _documents_remove(Document.objects.exclude(organisation_id=user.organisation_id))


def _documents_remove(documents) -> set[UUID]:
    gone = {document.id: document for document in documents.select_related("corpus__organisation")}
    held = Document.objects.using("migrator").filter(id__in=gone)
    held.update(live_build=None, live_version=None)
    for document in gone.values():
        InboxEvent.objects.filter(
            external_id=document.external_id, source__organisation=document.organisation_id, corpus_slug=document.corpus.slug
        ).delete()
        OutboxEvent.objects.filter(payload__source__startswith=f"/docmemo/{document.corpus.organisation.slug}/").filter(
            payload__data__external_id=document.external_id, payload__data__corpus=document.corpus.slug
        ).delete()
    held.delete()
    PageText.objects.using("migrator").filter(page__isnull=True).delete()
    return set(gone)


# --- the state of all tables, put aside and brought back ---------------------------------------------------


def _tables() -> list[str]:
    with connections["migrator"].cursor() as cursor:
        cursor.execute("select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'")
        return sorted(name for (name,) in cursor.fetchall() if name not in KEPT_TABLES)


def _tables_read() -> dict[str, bytes]:
    saved = {}
    with connections["migrator"].cursor() as cursor:
        for table in _tables():
            with cursor.cursor.copy(f'copy "{table}" to stdout (format binary)') as rows:
                saved[table] = b"".join(rows)
    return saved


def world_restore(world: World) -> None:
    """Every table as it was when the world was made."""
    for alias in connections:
        connections[alias].close()
    with connections["migrator"].cursor() as cursor:
        cursor.execute(
            "select tgrelid::regclass::text, quote_ident(tgname) from pg_trigger"
            " where not tgisinternal and tgenabled = 'O' and tgparentid = 0"
        )
        guards = cursor.fetchall()
        cursor.execute("begin")
        for table, trigger in guards:
            cursor.execute(f"alter table {table} disable trigger {trigger}")
        names = ", ".join(f'"{table}"' for table in world.saved)
        cursor.execute(f"truncate {names}")
        cursor.execute("set constraints all deferred")
        for table, content in world.saved.items():
            with cursor.cursor.copy(f'copy "{table}" from stdin (format binary)') as rows:
                rows.write(content)
        cursor.execute("set constraints all immediate")
        for table, trigger in guards:
            cursor.execute(f"alter table {table} enable trigger {trigger}")
        cursor.execute("commit")
