"""The database and the blob store held against the oracle. Every check gives sentences; none of them trusts what it checks."""

from __future__ import annotations

import json
import re
import socket
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from uuid import UUID

from django.db.models import Count

from docmemo_site.drill.generator import POISON_NAME, Access, Poison, Sent
from docmemo_site.drill.oracle import Expected
from docmemo_site.drill.report import Findings
from docmemo_site.embedded import process
from ingestion.models import (
    AccessAssignment,
    AuditEntry,
    Blob,
    Block,
    Build,
    BuildLiveness,
    Corpus,
    DeadLetter,
    Document,
    DocumentVersion,
    InboxEvent,
    Job,
    OutboxEvent,
    Page,
    PageText,
    Passage,
    PassageVector,
    PooledVector,
    Principal,
    Purge,
    StageRun,
)

PUBLISHED = "document.version.published"


# --- lost ------------------------------------------------------------------------------------------


def lost(corpus: Corpus, sent: Sequence[Sent], expected: Mapping[str, Expected]) -> list[str]:
    """Sent events without a trace in the inbox, and documents that do not stand as the last of their events says."""
    kept = dict(InboxEvent.objects.filter(source__organisation=corpus.organisation).values_list("event_id", "state"))
    found = []
    for event in {event.id: event for event in sent}.values():
        if event.id not in kept:
            found.append(f"{event.external_id}: event {event.id} ({event.type}, revision {event.revision}) never reached the inbox")
        elif kept[event.id] not in ("applied", "stale"):
            found.append(f"{event.external_id}: event {event.id} ({event.type}) is {kept[event.id]}")
    held = {d.external_id: d for d in Document.objects.filter(corpus=corpus).select_related("live_version", "live_build")}
    names = dict(Principal.objects.filter(organisation=corpus.organisation).values_list("id", "name"))
    for name, wanted in sorted(expected.items()):
        document = held.get(name)
        if document is None:
            found.append(f"{name}: there is no such document")
            continue
        found += [f"{name}: {what}" for what in _differences(document, wanted, names)]
    return found


def _differences(document: Document, wanted: Expected, names: Mapping[UUID, str]) -> list[str]:
    found = []
    if document.revision != wanted.revision:
        found.append(f"revision {document.revision} is in effect, not {wanted.revision}")
    if (document.deleted_at is not None) != wanted.deleted:
        found.append("is not deleted" if wanted.deleted else "is deleted")
    live = None if document.live_version is None else document.live_version.content_sha256
    if live != wanted.sha256:
        found.append(f"content {live and live[:12]} is live, not {wanted.sha256 and wanted.sha256[:12]}; {_last_job(document)}")
    elif document.live_build is not None:
        found += _page_differences(document.live_build, wanted.pages)
    access = _access_of(document, names)
    if not wanted.deleted and access != _sets(wanted.access):
        found.append(f"access is {access}, not {_sets(wanted.access)}")
    return found


def _last_job(document: Document) -> str:
    job = Job.objects.filter(document=document).order_by("-created_at").first()
    return "no job" if job is None else f"newest job {job.state} {job.reason_code}".strip()


def _page_differences(build: Build, facts: Sequence[str]) -> list[str]:
    """Each page must hold its own fact, a passage, and vectors."""
    texts = dict(PageText.objects.filter(page__build=build).values_list("page__number", "text"))
    if sorted(texts) != list(range(1, len(facts) + 1)):
        return [f"the live build has pages {sorted(texts)}, not {len(facts)}"]
    found = []
    for number, fact in enumerate(facts, start=1):
        if " ".join(fact.split()) not in " ".join(texts[number].split()):
            found.append(f"page {number} does not hold its fact")
    pages = Page.objects.filter(build=build)
    for model, what in ((Passage, "passages"), (PassageVector, "passage vectors"), (PooledVector, "pooled vectors")):
        bare = pages.exclude(id__in=model.objects.filter(build=build).values("page_id")).count()
        if bare:
            found.append(f"{bare} pages have no {what}")
    return found


def _access_of(document: Document, names: Mapping[UUID, str]) -> tuple[frozenset[str] | None, frozenset[str]]:
    own = AccessAssignment.objects.filter(document=document, page_number__isnull=True, valid_to__isnull=True).first()
    if own is None:
        return None, frozenset()
    allow = None if own.allow is None else frozenset(names.get(one, "?") for one in own.allow)
    return allow, frozenset(names.get(one, "?") for one in own.deny)


def _sets(access: Access) -> tuple[frozenset[str] | None, frozenset[str]]:
    return None if access.allow is None else frozenset(access.allow), frozenset(access.deny)


def announcements_lost(on_topic: Iterable[bytes]) -> list[str]:
    """Published builds that the outside was never told of, where the broker keeps what it was given."""
    told = Counter(said["data"]["build"] for said in map(json.loads, on_topic) if said.get("type") == PUBLISHED)
    builds = BuildLiveness.objects.values_list("build_id", flat=True).distinct()
    return [f"build {build} was published and nobody was told" for build in builds if str(build) not in told]


# --- doubled ---------------------------------------------------------------------------------------


def doubled(corpus: Corpus) -> list[str]:
    """Effects that happened more than once."""
    found = []
    for row in Build.objects.filter(state="live").values("document_id").annotate(n=Count("id")).filter(n__gt=1):
        found.append(f"document {row['document_id']} has {row['n']} live builds")
    for row in BuildLiveness.objects.filter(live_to__isnull=True).values("document_id").annotate(n=Count("id")).filter(n__gt=1):
        found.append(f"document {row['document_id']} is live {row['n']} times")
    for row in DocumentVersion.objects.values("document_id", "revision").annotate(n=Count("id")).filter(n__gt=1):
        found.append(f"document {row['document_id']} has {row['n']} versions of revision {row['revision']}")
    rows_of = (
        (Page, ("build_id", "number")), (PageText, ("page_id",)), (Block, ("page_id", "ordinal")), (Passage, ("page_id", "ordinal")),
        (PassageVector, ("passage_id", "space_id")), (PooledVector, ("page_id", "space_id")), (InboxEvent, ("source_id", "event_id")),
    )  # fmt: skip
    for model, fields in rows_of:
        for row in model.objects.values(*fields).annotate(n=Count("*")).filter(n__gt=1)[:20]:
            found.append(f"{row['n']} rows of {model.__name__} for {[str(row[name]) for name in fields]}")
    for row in StageRun.objects.filter(state="done").values("job_id", "stage", "first_page").annotate(n=Count("id")).filter(n__gt=1):
        found.append(f"stage {row['stage']} of job {row['job_id']} is done {row['n']} times")
    found += _told_twice(corpus)
    return found


def _told_twice(corpus: Corpus) -> list[str]:
    applied: Counter[str] = Counter()
    entries = AuditEntry.objects.filter(organisation=corpus.organisation)
    for body in entries.filter(act__startswith="document.", body__has_key="event").values_list("body", flat=True):
        applied[body["event"]] += 1
    found = [f"inbox event {event} took effect {times} times" for event, times in applied.items() if times > 1]
    told: Counter[str] = Counter()
    for payload in OutboxEvent.objects.filter(type=PUBLISHED).values_list("payload", flat=True):
        told[payload["data"]["build"]] += 1
    found += [f"build {build} was announced {times} times" for build, times in told.items() if times > 1]
    published = entries.filter(act=PUBLISHED).values_list("body", flat=True)
    times_published = Counter(body.get("build") for body in published)
    return found + [f"build {build} was published {times} times" for build, times in times_published.items() if times > 1]


# --- stuck -----------------------------------------------------------------------------------------


def stuck() -> list[str]:
    """What is not in a final state. Asked during the wait too: an empty answer is what the wait waits for."""
    found = [f"job {j.id} of {j.document_id} is {j.state}" for j in Job.objects.filter(state__in=["queued", "running"])]
    for run in StageRun.objects.filter(state__in=["pending", "running"]):
        found.append(f"stage run {run.id} ({run.stage}) is {run.state}, attempts {run.attempts}, {run.reason_code}")
    for event in InboxEvent.objects.filter(state__in=["received", "waiting"]):
        found.append(f"inbox event {event.event_id} ({event.external_id}) is {event.state}")
    for row in OutboxEvent.objects.filter(published_at__isnull=True):
        found.append(f"outbox row {row.id} ({row.type}) is not published")
    found += [f"the purge of {p.document_id} has not happened" for p in Purge.objects.filter(purged_at__isnull=True)]
    found += [f"build {b.id} of {b.document_id} is building" for b in Build.objects.filter(state="building")]
    return found


# --- orphans ---------------------------------------------------------------------------------------


def orphans(blobs: Path, expected: Mapping[str, Expected], corpus: Corpus) -> list[str]:
    """Rows, files and leases that belong to nothing any more."""
    found = [
        f"build {b.id} of the deleted document {b.document_id} is {b.state}"
        for b in Build.objects.filter(document__deleted_at__isnull=False, state__in=["building", "live"])
    ]
    names = Document.objects.filter(corpus=corpus).values_list("external_id", flat=True)
    found += [f"{name} is a document that nobody sent" for name in names if name not in expected]
    live = Build.objects.filter(state="live").exclude(id__in=Document.objects.exclude(live_build=None).values("live_build_id"))
    found += [f"build {build.id} is live, and its document does not point to it" for build in live]
    for run in StageRun.objects.filter(state="running"):
        host, _, pid = run.worker.rpartition(":")
        if host == socket.gethostname() and pid.isdigit() and process.began(int(pid)) is None:
            found.append(f"stage run {run.id} is leased to process {pid}, which is dead")
    return found + _orphan_blobs(corpus) + _orphan_files(blobs)


def _orphan_blobs(corpus: Corpus) -> list[str]:
    """Blobs that no version has and no event in the inbox names."""
    named = {
        sha for sha in InboxEvent.objects.filter(payload__has_key="blob").values_list("payload__blob__sha256", flat=True) if sha
    } | set(OutboxEvent.objects.filter(payload__data__has_key="blob").values_list("payload__data__blob__sha256", flat=True))
    loose = Blob.objects.filter(versions__isnull=True, organisation=corpus.organisation)
    return [f"blob {blob.sha256[:12]} belongs to no version and no event" for blob in loose if blob.sha256 not in named]


def _orphan_files(root: Path) -> list[str]:
    """Files below the blob store that no row knows: contents, pictures of pages, drafts of a writer that died."""
    contents = {blob.key for blob in Blob.objects.all()}
    pictures = set(Page.objects.exclude(image_key="").values_list("image_key", flat=True))
    builds = {str(build) for build in Build.objects.values_list("id", flat=True)}
    found = []
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        key = path.relative_to(root).as_posix()
        picture = re.fullmatch(r"[^/]+/pages/([^/]+)/\d+\.jpg", key)
        if path.name.startswith(".new-"):
            found.append(f"the draft {key} was left behind")
        elif key in contents or key in pictures or (picture and picture.group(1) in builds):
            continue
        else:
            found.append(f"the file {key} belongs to no row")
    return found


# --- all -------------------------------------------------------------------------------------------


def letter_causes() -> dict[str, set[str]]:
    """The causes of the dead letters of each poison message, which is known by the name in its key or, without one, in its value."""
    causes: dict[str, set[str]] = {}
    for letter in DeadLetter.objects.only("key", "value", "cause"):
        found = POISON_NAME.search(bytes(letter.key or letter.value)[:4000].decode(errors="replace"))
        if found is not None:
            causes.setdefault(found.group(), set()).add(letter.cause)
    return causes


def dead_letters(poison: Sequence[Poison]) -> tuple[int, list[str]]:
    """How many of the poison messages are dead letters with the right cause, and what is wrong with the others."""
    causes = letter_causes()
    wrong = []
    for one in poison:
        if one.name not in causes:
            wrong.append(f"{one.name}: no dead letter")
        elif not causes[one.name] <= set(one.causes):
            wrong.append(f"{one.name}: its dead letter says {sorted(causes[one.name])}, not {list(one.causes)}")
    return len(poison) - len(wrong), wrong


def effects(corpus: Corpus, sent: Sequence[Sent]) -> int:
    """How many of the sent events came to an end in the inbox."""
    settled = InboxEvent.objects.filter(source__organisation=corpus.organisation, state__in=["applied", "stale"])
    return len({event.id for event in sent} & set(settled.values_list("event_id", flat=True)))


def compare(corpus: Corpus, blobs: Path, sent: Sequence[Sent], expected: Mapping[str, Expected]) -> Findings:
    """Everything that is wrong."""
    return Findings(lost(corpus, sent, expected), doubled(corpus), stuck(), orphans(blobs, expected, corpus))
