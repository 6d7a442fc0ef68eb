"""The console's sources: an owner sees and stops his own, and a program's token opens what the page says, until it is ended."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from ingestion.models import AuditEntry, Role, Source, SourceConfiguration, SourceItem
from ingestion.selectors.sources import source_of_digest
from ingestion.services.people import role_grant
from ingestion.services.sources import source_configure, token_digest
from tests.ingestion.fakes import Workbench


@pytest.fixture
def owner(bench: Workbench) -> Client:
    """Owns the library and nothing else."""
    role_grant(user=bench.cast.alice, role=Role.CORPUS_OWNER, actor="test", corpus=bench.corpus())
    client = Client()
    client.force_login(bench.cast.alice)
    return client


def _source(bench: Workbench, slug: str = "library", name: str = "folder", **options: object) -> Source:
    folder = {"kind": "push"} | options
    return source_configure(actor="test", corpus=bench.corpus(slug), name=name, **folder).source


def test_a_program_is_registered_and_its_token_is_shown_once_and_ends(bench: Workbench, owner: Client) -> None:
    corpus = bench.corpus()
    made = owner.post("/console/sources/new/", {"name": "erp", "corpus_id": str(corpus.id)})
    source = Source.objects.get(name="erp")
    assert (made.status_code, made["Location"]) == (302, f"/console/sources/{source.id}/")
    assert source.configuration.kind == "push" and list(source.corpora.all()) == [corpus]

    answer = owner.post(f"/console/sources/{source.id}/tokens", {"label": "night job", "days": ""})
    token = re.search(r'id="token">([^<]+)<', answer.content.decode())[1]
    assert answer["Cache-Control"] == "no-store" and source_of_digest(token_digest(token)) == source
    later = owner.get(f"/console/sources/{source.id}/").content.decode()
    assert token not in later and "night job" in later

    owner.post(f"/console/sources/{source.id}/revoke", {"label": "night job"})
    assert source_of_digest(token_digest(token)) is None
    acts = set(AuditEntry.objects.filter(subject=str(source.id)).values_list("act", flat=True))
    assert acts >= {"source.configured", "token.revoked"}


def test_a_name_that_is_taken_changes_nobodys_source(bench: Workbench, owner: Client) -> None:
    theirs = _source(bench, "second", "hr")
    Source.objects.create(organisation=bench.corpus().organisation, name="topic-of-all")
    for name in ("hr", "topic-of-all", "upload", "../x", ""):
        assert owner.post("/console/sources/new/", {"name": name, "corpus_id": str(bench.corpus().id)}).status_code == 422, name
    assert owner.post("/console/sources/new/", {"name": "new", "corpus_id": str(bench.corpus("second").id)}).status_code == 422
    assert SourceConfiguration.objects.get(source=theirs).corpus.slug == "second"
    assert not Source.objects.get(name="topic-of-all").corpora.exists()


def test_an_owner_sees_and_stops_the_sources_of_his_corpora_only(bench: Workbench, owner: Client) -> None:
    own, theirs = _source(bench, name="mine"), _source(bench, "second", "theirs")
    page = owner.get("/console/sources/").content.decode()
    assert "mine" in page and "theirs" not in page
    for action in ("pause", "resume", "ask", "revoke"):
        assert owner.post(f"/console/sources/{theirs.id}/{action}").status_code == 404
    assert owner.post(f"/console/sources/{theirs.id}/tokens", {"label": "x"}).status_code == 404
    assert owner.get(f"/console/sources/{theirs.id}/").status_code == 404
    assert not theirs.tokens.exists() and theirs.configuration.enabled
    assert owner.post(f"/console/sources/{own.id}/format").status_code == 404


def test_a_source_that_is_asked_is_paused_and_goes_on_and_tells_what_it_refused(bench: Workbench, owner: Client, tmp_path: object) -> None:
    source = _source(bench, kind="folder", options={"root": str(tmp_path)})
    seen_at = source.configuration.next_due_at
    SourceItem.objects.create(source=source, external_id="notes.docx", fingerprint="1", refusal="not_pdf", seen_at=seen_at)
    page = owner.get(f"/console/sources/{source.id}/").content.decode()
    assert "notes.docx" in page and "not_pdf" in page
    owner.post(f"/console/sources/{source.id}/pause")
    assert not SourceConfiguration.objects.get(source=source).enabled
    assert "is paused, or sends by itself" in owner.post(f"/console/sources/{source.id}/ask", follow=True).content.decode()
    owner.post(f"/console/sources/{source.id}/resume")
    before = SourceConfiguration.objects.get(source=source)
    assert before.enabled
    owner.post(f"/console/sources/{source.id}/ask")
    assert SourceConfiguration.objects.get(source=source).next_due_at > before.next_due_at
    acts = list(AuditEntry.objects.filter(subject=str(source.id)).order_by("position").values_list("act", flat=True))
    assert acts == ["source.configured", "source.paused", "source.resumed", "source.asked"]
