"""The console: corpora, handing in, access lists, jobs; and that managing is not reading."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from ingestion.models import Corpus, Document, DocumentVersion, Job, Page, Role, StageRun, WorkerHeartbeat
from ingestion.selectors.console import access_lists
from ingestion.services.heartbeats import worker_seen
from ingestion.services.people import role_grant
from tests.ingestion.fakes import Workbench

TEXT = "\f".join(["INTRODUCTION\nthe company makes pumps", "PRICES\nthe pump costs 1200 euro"])


@pytest.fixture
def admin(bench: Workbench) -> Client:
    client = Client()
    client.force_login(bench.cast.admin)
    return client


def _html(client: Client, path: str, **headers: str) -> str:
    answer = client.get(path, headers=headers or None)
    assert answer.status_code == 200, (path, answer.status_code)
    return answer.content.decode()


def _put(client: Client, path: str, data: dict[str, str]) -> HttpResponse:
    """A list put in force as the page lets a person do it: look first, then say so with the digest of what was seen."""
    looked = client.post(path, data)
    assert looked.status_code == 200, looked.content.decode()
    return client.post(path, {**data, "seen": re.search(r'name="seen" value="([0-9a-f]+)"', looked.content.decode())[1]})


def _upload(client: Client, corpus: Corpus, content: str = TEXT, name: str = "price list.pdf", **data: str) -> HttpResponse:
    file = SimpleUploadedFile(name, content.encode(), content_type="application/pdf")
    return client.post(f"/console/corpora/{corpus.id}/upload", {"narrow": "no", **data, "file": file})


def _arrive(bench: Workbench) -> None:
    bench.deliver()
    bench.work()


# --- corpora and lists -------------------------------------------------------------------------------


def test_an_administrator_makes_a_corpus(bench: Workbench, admin: Client) -> None:
    answer = admin.post("/console/corpora/new/", {"name": "Handbooks", "slug": "handbooks", "allow": "staff\n\nstaff\n", "deny": ""})
    corpus = Corpus.objects.get(slug="handbooks")
    assert (answer.status_code, answer["Location"]) == (302, f"/console/corpora/{corpus.id}/")
    assert access_lists(corpus)[0].allow == ("staff",)
    again = admin.post("/console/corpora/new/", {"name": "Handbooks", "slug": "handbooks", "allow": "staff"})
    assert again.status_code == 422 and "this short name" in again.content.decode()


def test_a_name_that_nobody_has_is_refused(bench: Workbench, admin: Client) -> None:
    answer = admin.post("/console/corpora/new/", {"name": "N", "slug": "n", "allow": "staff\nstuff"})
    assert answer.status_code == 422 and "has the name stuff" in answer.content.decode()
    assert not Corpus.objects.filter(slug="n").exists()


def test_lists_of_corpus_document_and_page_are_put_in_force(bench: Workbench, admin: Client) -> None:
    document = bench.publish(TEXT)
    _put(admin, f"/console/corpora/{document.corpus_id}/access", {"allow": "staff\nuser:audra", "deny": "user:bob"})
    _put(admin, f"/console/documents/{document.id}/access", {"narrow": "yes", "allow": "staff"})
    _put(admin, f"/console/documents/{document.id}/access", {"page_number": "2", "narrow": "yes", "allow": "user:alice"})
    assert access_lists(document.corpus)[0].deny == ("user:bob",)
    own, page = access_lists(document.corpus, document)
    assert (own.allow, page.page_number, page.allow) == (("staff",), 2, ("user:alice",))
    seen = _html(admin, f"/console/documents/{document.id}/")
    assert "user:audra" in seen and "Page 2" in seen
    missing = admin.post(f"/console/documents/{document.id}/access", {"page_number": "3", "narrow": "no"})
    assert missing.status_code == 422 and "has 2 pages" in missing.content.decode()
    _put(admin, f"/console/documents/{document.id}/access", {"narrow": "no"})
    assert access_lists(document.corpus, document)[0].allow is None


def test_names_beside_a_choice_that_does_not_use_them_are_not_dropped_silently(bench: Workbench, admin: Client) -> None:
    document = bench.publish(TEXT)
    before = access_lists(document.corpus, document)
    answer = admin.post(f"/console/documents/{document.id}/access", {"narrow": "no", "allow": "staff"})
    assert answer.status_code == 422 and access_lists(document.corpus, document) == before
    assert "does not use them" in answer.content.decode()


# --- handing in --------------------------------------------------------------------------------------


def test_an_upload_takes_the_way_of_every_event(bench: Workbench, admin: Client) -> None:
    corpus = bench.corpus()
    answer = _upload(admin, corpus, narrow="yes", allow="user:alice", title="Prices")
    assert answer.status_code == 302
    path = answer["Location"]
    assert "Sent" in _html(admin, path) and "On the way" in _html(admin, f"/console/corpora/{corpus.id}/")
    assert not Document.objects.exists()
    bench.deliver()
    assert 'hx-trigger="every 1s"' in _html(admin, path)
    bench.work()
    done = _html(admin, path)
    document = Document.objects.get()
    assert "live as version 1, with 2 pages" in done and "hx-trigger" not in done and str(document.id) in done
    assert (document.title, access_lists(corpus, document)[0].allow) == ("Prices", ("user:alice",))


def test_the_same_file_twice_is_two_documents(bench: Workbench, admin: Client) -> None:
    corpus = bench.corpus()
    _upload(admin, corpus)
    _upload(admin, corpus)
    _arrive(bench)
    assert sorted(Document.objects.values_list("title", flat=True)) == ["price list", "price list"]


def test_a_new_version_keeps_title_and_list(bench: Workbench, admin: Client) -> None:
    corpus = bench.corpus()
    document = bench.publish(TEXT, title="Prices", allow=("user:alice",))
    _upload(admin, corpus, TEXT.replace("1200", "1300"), of=str(document.id))
    _arrive(bench)
    document.refresh_from_db()
    assert (Document.objects.count(), document.live_version.number, document.title) == (1, 2, "Prices")
    assert access_lists(corpus, document)[0].allow == ("user:alice",)


def test_a_document_of_another_corpus_gets_no_version_here(bench: Workbench, admin: Client) -> None:
    document = bench.publish(TEXT)
    other = bench.corpus("other-corpus")
    assert _upload(admin, other, of=str(document.id)).status_code == 422
    assert DocumentVersion.objects.count() == 1


@pytest.mark.parametrize("name", ["Preisliste (2024) für Graz.pdf", "???.pdf", "..pdf", "a\u202eb\u0007.pdf", "x" * 400 + ".pdf"])
def test_any_file_name_will_do(bench: Workbench, admin: Client, name: str) -> None:
    assert _upload(admin, bench.corpus(), name=name).status_code == 302
    _arrive(bench)
    document = Document.objects.get()
    assert document.live_version is not None and document.title.isprintable() and document.title


def test_a_file_above_the_limit_is_refused_with_words(bench: Workbench, admin: Client, settings) -> None:
    settings.PIPELINE = {**settings.PIPELINE, "MAX_DOCUMENT_BYTES": 10}
    answer = _upload(admin, bench.corpus())
    assert answer.status_code == 422 and "larger than the limit" in answer.content.decode()


def test_a_large_file_goes_by_disk(bench: Workbench, admin: Client, settings) -> None:
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10
    assert _upload(admin, bench.corpus()).status_code == 302
    _arrive(bench)
    assert Document.objects.get().live_version.bytes == len(TEXT.encode())


def test_a_document_is_withdrawn(bench: Workbench, admin: Client) -> None:
    document = bench.publish(TEXT)
    admin.post(f"/console/documents/{document.id}/withdraw")
    bench.deliver()
    page = _html(admin, f"/console/documents/{document.id}/")
    assert "Withdrawn" in page and "Yes, withdraw it" not in page and "Put in force" not in page


# --- jobs --------------------------------------------------------------------------------------------


def test_a_failure_is_told_in_words_and_the_old_version_stays(bench: Workbench, admin: Client) -> None:
    document = bench.publish(TEXT)
    bench.publish(b"FAIL encrypted")
    job = Job.objects.get(document=document, version__number=2)
    page = _html(admin, f"/console/jobs/{job.id}/")
    assert "It failed in the stage inspect" in page and "opens with a password only" in page
    assert page.count("opens with a password only") == 2  # with the job and with its stage, not once more as advice
    assert "Yes, retry" in page and "Yes, cancel" not in page
    table = _html(admin, f"/console/corpora/{document.corpus_id}/?state=failed")
    assert "Version 1" in table and "version 2" in table and "password only" in table


def test_a_job_is_retried_and_cancelled(bench: Workbench, admin: Client) -> None:
    bench.submit(TEXT)
    bench.deliver()
    job = bench.newest_job()
    poll = {"HX-Request": "true"}
    fragment = _html(admin, f"/console/jobs/{job.id}/", **poll)
    assert "<html" not in fragment and "Yes, cancel the job" in fragment and "Yes, retry" not in fragment
    token = fragment.split("seen=")[1].split('"')[0]
    assert admin.get(f"/console/jobs/{job.id}/?seen={token}", headers=poll).status_code == 204
    admin.post(f"/console/jobs/{job.id}/cancel")
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert "Yes, retry" in _html(admin, f"/console/jobs/{job.id}/?seen={token}", **poll)
    admin.post(f"/console/jobs/{job.id}/retry")
    bench.work()
    job.refresh_from_db()
    assert job.state == "published"
    done = _html(admin, f"/console/jobs/{job.id}/")
    assert "hx-trigger" not in done and "Yes, retry" not in done
    told = admin.post(f"/console/jobs/{job.id}/retry", follow=True).content.decode()
    assert "cannot be retried" in told


def test_a_stage_shows_its_windows(bench: Workbench, admin: Client) -> None:
    bench.submit("\f".join(f"page {n}" for n in range(1, 6)))
    bench.deliver()
    bench.work(limit=2)
    page = _html(admin, f"/console/jobs/{bench.newest_job().id}/")
    assert "1 of 3 windows of pages" in page and "0 of 3 windows of pages" in page


def test_a_queue_without_a_worker_is_told_from_a_long_one(bench: Workbench, admin: Client) -> None:
    bench.submit(TEXT)
    bench.deliver()
    path = f"/console/jobs/{bench.newest_job().id}/"
    said = "Queue cpu has 1 piece of work and no worker listens to it. Start one: "
    assert said in _html(admin, path) and said in _html(admin, "/console/jobs/") and said in _html(admin, "/console/")
    worker_seen(name="one@here", queues=["cpu"], processes=1)
    assert not any(said in _html(admin, place) for place in (path, "/console/jobs/", "/console/"))
    StageRun.objects.update(due_at=timezone.now() - timedelta(minutes=5))
    assert "No worker has taken the stage inspect" in _html(admin, path)
    WorkerHeartbeat.objects.update(seen_at=timezone.now() - timedelta(minutes=1))
    assert said in _html(admin, path)


def test_one_job_is_paused_and_goes_on(bench: Workbench, admin: Client) -> None:
    bench.submit(TEXT)
    bench.deliver()
    job = bench.newest_job()
    path = f"/console/jobs/{job.id}/"
    told = admin.post(f"{path}pause", follow=True).content.decode()
    assert "The job is paused since" in told and ">Resume<" in told and "Paused" in told
    bench.work()
    assert bench.newest_job().state == "queued"
    assert "The job goes on." in admin.post(f"{path}resume", follow=True).content.decode()
    bench.work()
    assert bench.newest_job().state == "published"
    assert admin.post(f"{path}nonsense").status_code == 404


def test_a_bulk_is_paused_cancelled_and_shown_with_its_total(bench: Workbench, admin: Client) -> None:
    for number in range(3):
        bench.submit(TEXT, f"{number}.pdf")
    bench.submit(TEXT, "other.pdf", corpus=bench.corpus("other"))
    bench.deliver()
    admin.post("/console/jobs/all/pause", {"corpus": "library"})
    assert Job.objects.filter(paused_at__isnull=False).count() == 3
    seen = _html(admin, "/console/jobs/?corpus=library")
    assert "<strong>0 of 3</strong>" in seen and "3 paused: paused" in seen and "Resume all 3" in seen and "Pause all" not in seen
    admin.post("/console/jobs/all/cancel", {"state": "paused"})
    assert Job.objects.filter(state="cancelled").count() == 3
    assert "Retry all 3" in _html(admin, "/console/jobs/?code=cancelled")


def test_a_bulk_reaches_no_corpus_that_is_not_ones_own(bench: Workbench) -> None:
    bench.submit(TEXT, "mine.pdf", corpus=bench.corpus("mine"))
    bench.submit(TEXT, "theirs.pdf")
    bench.deliver()
    role_grant(actor="test", user=bench.cast.bob, role=Role.CORPUS_OWNER, corpus=bench.corpus("mine"))
    owner = Client()
    owner.force_login(bench.cast.bob)
    assert "theirs" not in _html(owner, "/console/jobs/")
    owner.post("/console/jobs/all/cancel", {})
    owner.post("/console/jobs/all/cancel", {"corpus": "library"})
    states = dict(Job.objects.values_list("document__external_id", "state"))
    assert states == {"mine.pdf": "cancelled", "theirs.pdf": "queued"}
    alice = Client()
    alice.force_login(bench.cast.alice)
    assert alice.post("/console/jobs/all/cancel", {}).status_code == 404


# --- managing is not reading -------------------------------------------------------------------------


def test_a_manager_sees_titles_and_states_and_no_text(bench: Workbench, admin: Client) -> None:
    document = bench.publish(TEXT, title="Price list")
    page = Page.objects.first()
    seen = _html(admin, f"/console/documents/{document.id}/") + _html(admin, f"/console/corpora/{document.corpus_id}/")
    assert "Price list" in seen and "restricted" in seen
    assert "1200" not in seen and f"/pages/{page.id}/image" not in seen
    _put(admin, f"/console/documents/{document.id}/access", {"narrow": "yes", "allow": "user:admin"})
    assert f"/pages/{page.id}/image" not in _html(admin, f"/console/documents/{document.id}/")  # the corpus is the ceiling
    _put(admin, f"/console/corpora/{document.corpus_id}/access", {"allow": "user:admin"})
    assert f"/pages/{page.id}/image" in _html(admin, f"/console/documents/{document.id}/")


def test_an_owner_manages_his_corpus_and_no_other(bench: Workbench, admin: Client) -> None:
    mine, other = bench.corpus("mine"), bench.corpus("other-corpus")
    document = bench.publish(TEXT, corpus=other, title="Price list")
    role_grant(user=bench.cast.bob, role=Role.CORPUS_OWNER, corpus=mine, actor="test")
    client = Client()
    client.force_login(bench.cast.bob)
    seen = _html(client, "/console/")
    assert "mine" in seen and "other-corpus" not in seen and "New corpus" not in seen
    job = bench.newest_job()
    for path in (f"corpora/{other.id}/", f"documents/{document.id}/", f"jobs/{job.id}/", "corpora/new/"):
        assert client.get(f"/console/{path}").status_code == 404
    assert client.post(f"/console/jobs/{job.id}/retry").status_code == 404
    assert _upload(client, other).status_code == 404
    assert client.get(f"/console/corpora/{mine.id}/").status_code == 200


def test_the_table_is_searched_and_polled(bench: Workbench, admin: Client) -> None:
    document = bench.publish(TEXT, title="Price list")
    bench.publish(TEXT, external_id="b.pdf", title="Safety manual")
    base = f"/console/corpora/{document.corpus_id}/"
    assert "Safety manual" not in _html(admin, f"{base}?q=price").split('id="upload"')[0]
    assert "No document fits" in _html(admin, f"{base}?q=nothing+like+it")
    assert "hx-trigger" not in _html(admin, f"{base}documents")
    bench.submit(TEXT, external_id="c.pdf")
    bench.deliver()
    fragment = _html(admin, f"{base}documents")
    token = fragment.split("seen=")[1].split('"')[0]
    assert admin.get(f"{base}documents?seen={token}").status_code == 204
    bench.work()
    assert "hx-trigger" not in _html(admin, f"{base}documents?seen={token}")


# --- looking before a list is put in force, and why a person may see ---------------------------------


def test_a_list_is_put_in_force_only_as_it_was_seen(bench: Workbench, admin: Client) -> None:
    document = bench.publish(TEXT)
    path = f"/console/corpora/{document.corpus_id}/access"
    data = {"allow": "staff\nuser:bob", "deny": ""}
    looked = admin.post(path, data).content.decode()
    assert "bob" in looked and "1 would see more, 0 would see less" in looked and "alice" not in looked.split("Whom it would concern")[1]
    assert not bench.sees("bob", document)  # nothing was written by looking
    stale = admin.post(path, {**data, "seen": "0" * 32})
    assert stale.status_code == 409 and "Nothing was changed" in stale.content.decode() and not bench.sees("bob", document)
    seen = re.search(r'name="seen" value="([0-9a-f]+)"', stale.content.decode())[1]
    assert admin.post(path, {**data, "seen": seen}).status_code == 302 and bench.sees("bob", document)


def test_why_a_person_may_see(bench: Workbench, admin: Client) -> None:
    document = bench.publish(TEXT)
    path = f"/console/documents/{document.id}/explain"
    assert "alice may see the document" in _html(admin, f"{path}?person=alice")
    assert "through user:alice &gt; staff" in _html(admin, f"{path}?person=alice&page=2")
    assert "the allow list of the corpus is the first that is not met" in _html(admin, f"{path}?person=bob")
    told = [_html(admin, f"{path}?person={name}").replace(name, "NAME") for name in ("mallory", "nobodyy")]
    told = [re.sub(r'value="\w{64}"', "", page) for page in told]  # the token against forged forms
    assert told[0] == told[1] and "no such person" in told[0]
    assert "1200 euro" not in _html(admin, f"{path}?person=alice")
