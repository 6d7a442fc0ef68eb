"""Another model or parser: a new build beside the live one; a failing one leaves the old one answering."""

from __future__ import annotations

import pytest

from ingestion.models import Build, Document, EmbeddingSpace, PassageVector
from ingestion.seams import load
from ingestion.selectors.evidence import evidence_scope
from ingestion.selectors.search import evidence_search
from ingestion.selectors.visibility import asker_for
from ingestion.services.pipeline import pipeline_fingerprint
from ingestion.services.rebuild import document_rebuild
from tests.ingestion.fakes import Workbench

TEXT = "GUARANTEE\nthe pump lasts thirty six months\fSECOND\nanother page of it"
FAKE = "ingestion.seams.page_embedder.fake.HashedWordsEmbedder"


def embedder(settings, **options: object) -> None:
    settings.SEAMS = {**settings.SEAMS, "page_embedder": {"BACKEND": FAKE, "OPTIONS": options}}
    queue = load("task_queue")
    load.cache_clear()
    pipeline_fingerprint.cache_clear()
    load("task_queue").offered = queue.offered


def found(bench: Workbench) -> list[int]:
    asker = asker_for(bench.cast.alice)
    scope = evidence_scope(asker, "library")
    return [c.number for c in evidence_search(asker, scope, "how long does the pump last", load("page_embedder"), 5)]


def test_an_embedder_that_fails_leaves_the_old_version_answerable_and_the_update_failed(bench: Workbench, settings) -> None:
    old = bench.publish(TEXT).live_build_id
    embedder(settings, failing=True)
    settings.PIPELINE = {**settings.PIPELINE, "MAX_ATTEMPTS": 1}
    document = bench.publish("GUARANTEE\nthe pump lasts forty months")
    job = bench.newest_job()
    assert (document.live_build_id, job.state, job.failed_stage, job.reason_code) == (old, "quarantined", "embed", "embedder_failed")
    embedder(settings)
    assert found(bench)[0] == 1


def test_a_model_of_another_dimension_builds_beside_the_live_one(bench: Workbench, settings) -> None:
    old = bench.publish(TEXT).live_build
    embedder(settings, dimensions=96)
    document = Document.objects.get()
    assert found(bench)[0] == 1  # by its words, until its vectors are in the new space
    assert document_rebuild(document=document, actor="test") is not None
    document.refresh_from_db()
    assert document.live_build == old
    assert document_rebuild(document=document, actor="test") is None  # under way
    bench.work()
    document.refresh_from_db()
    old.refresh_from_db()
    assert document.live_build != old and old.state == "superseded" and document.live_version.number == 1
    assert document_rebuild(document=document, actor="test") is None  # done
    dimensions = dict(EmbeddingSpace.objects.values_list("id", "dimensions"))
    assert sorted(dimensions[s] for s in PassageVector.objects.values_list("space_id", flat=True)) == [64, 64, 96, 96]
    assert found(bench)[0] == 1


@pytest.mark.parametrize("ended", ["deleted", "newer"])
def test_nothing_is_rebuilt_that_has_ended_or_is_being_replaced(bench: Workbench, settings, ended: str) -> None:
    from ingestion.services.documents import document_withdraw

    document = bench.publish(TEXT)
    if ended == "deleted":
        document_withdraw(actor="test", document=document)
    else:
        bench.submit("the newest text")
    bench.deliver()
    started = document_rebuild(document=document, actor="test")
    assert started is None
    bench.work()
    assert Build.objects.filter(state="building").count() == 0
