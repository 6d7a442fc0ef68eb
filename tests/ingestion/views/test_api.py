"""The HTTP API for programs: what each request does, and that a token opens its own source's doors and no other."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import ProgrammingError
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from ingestion.domain.ids import new_id
from ingestion.models import (
    ApiToken,
    AuditEntry,
    AuditPayload,
    Corpus,
    Document,
    DocumentPassword,
    InboxEvent,
    OutboxEvent,
    Source,
    Upload,
    UploadPart,
)
from ingestion.seams import load
from ingestion.selectors.sources import source_rows
from ingestion.services.corpora import corpus_create
from ingestion.services.sources import source_configure, token_issue, token_revoke
from ingestion.services.uploads import uploads_sweep
from tests.ingestion.fakes import Workbench

PAGES = b"TITLE\nthe first page\fthe second page"


@dataclass
class Program:
    """A program with a token; without one, a stranger."""

    token: str = ""

    def send(self, method: str, path: str, data: Any = b"", content_type: str = "application/octet-stream", **headers: str) -> HttpResponse:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        return Client(enforce_csrf_checks=True).generic(method, path, data, content_type, headers=sent)

    def post(self, query: str, content: bytes = PAGES, **headers: str) -> HttpResponse:
        return self.send("POST", f"/api/v1/documents?{query}", content, "application/pdf", **headers)

    def begin(self, **fields: Any) -> HttpResponse:
        told = {"corpus": "library", "external_id": "big.pdf", "bytes": len(PAGES), **fields}
        return self.send("POST", "/api/v1/uploads", json.dumps(told), "application/json")

    def part(self, address: str, offset: int | str, content: bytes, method: str = "PATCH") -> HttpResponse:
        return self.send(method, address, content, Upload_Offset=str(offset))


@dataclass
class Scene:
    bench: Workbench
    corpus: Corpus
    source: Source
    program: Program
    other: Program  # another source, of a corpus of its own


def _program(corpus: Corpus, name: str, **fields: object) -> tuple[Source, Program]:
    source = source_configure(actor="test", corpus=corpus, name=name, kind="push", **fields).source
    return source, Program(token_issue(actor="test", source=source, name="default"))


@pytest.fixture
def scene(bench: Workbench, settings: LazySettings) -> Scene:
    settings.UPLOADS = {**settings.UPLOADS, "MIN_PART_BYTES": 4, "MAX_PART_BYTES": 64, "MAX_OPEN": 3}
    corpus = bench.corpus()
    source, program = _program(corpus, "intranet")
    _, other = _program(bench.corpus("archive"), "archive")
    return Scene(bench, corpus, source, program, other)


def _blobs(scene: Scene) -> list[str]:
    return [key for key in load("blobs").keys(f"{scene.corpus.organisation_id}/uploads/") if "/uploads/" in key]


# --- handing in ------------------------------------------------------------------------------------------


def test_a_body_becomes_a_live_document_and_its_status_tells_so(scene: Scene) -> None:
    answer = scene.program.post("corpus=library&external_id=h.pdf&title=Handbook&file_name=h.pdf&allow=staff")
    assert answer.status_code == 202
    address = answer.json()["status"]
    assert answer["Location"] == address
    assert scene.program.send("GET", address).json()["state"] == "sent"
    scene.bench.deliver()
    assert scene.program.send("GET", address).json()["state"] == "queued"
    scene.bench.work()
    told = scene.program.send("GET", address).json()
    assert (told["state"], told["ended"], told["version"], told["pages"]) == ("published", True, 1, 2)
    document = Document.objects.get()
    assert (document.title, document.external_id, str(document.id)) == ("Handbook", "h.pdf", told["document"])
    assert InboxEvent.objects.get().source == scene.source
    assert {row.name: row.documents for row in source_rows(scene.corpus.organisation)} == {"intranet": 1, "archive": 0}


def test_a_form_does_the_same(scene: Scene) -> None:
    form = {"corpus": "library", "external_id": "h.pdf", "allow": ["staff", "board"], "file": SimpleUploadedFile("ä.pdf", PAGES)}
    client = Client(enforce_csrf_checks=True, headers={"Authorization": f"bearer {scene.program.token}"})
    assert client.post("/api/v1/documents", form).status_code == 202
    data = OutboxEvent.objects.get(topic="docmemo.documents").payload["data"]
    assert (data["file_name"], data["access"]) == ("ä.pdf", {"allow": ["board", "staff"], "deny": []})


def test_a_document_is_taken_back(scene: Scene) -> None:
    scene.program.post("corpus=library&external_id=h.pdf")
    scene.bench.deliver()
    scene.bench.work()
    answer = scene.program.send("DELETE", "/api/v1/documents?corpus=library&external_id=h.pdf")
    scene.bench.deliver()
    assert scene.program.send("GET", answer.json()["status"]).json()["state"] == "deleted"
    assert Document.objects.get().deleted_at is not None


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("", None),
        ("&allow=staff", {"allow": ["staff"], "deny": []}),
        ("&allow=", {"allow": [], "deny": []}),
        ("&deny=guests", {"allow": None, "deny": ["guests"]}),
    ],
)
def test_lists(scene: Scene, query: str, sent: dict | None) -> None:
    scene.program.post(f"corpus=library&external_id=h.pdf{query}")
    assert OutboxEvent.objects.get(topic="docmemo.documents").payload["data"].get("access") == sent


def test_without_a_list_of_its_own_a_document_gets_its_sources(scene: Scene) -> None:
    _, program = _program(scene.corpus, "wiki", allow=["staff"], deny=["guests"])
    program.post("corpus=library&external_id=h.pdf")
    assert OutboxEvent.objects.get(topic="docmemo.documents").payload["data"]["access"] == {"allow": ["staff"], "deny": ["guests"]}


# --- who may ---------------------------------------------------------------------------------------------


def test_another_source_finds_nothing(scene: Scene) -> None:
    corpus_create(actor="test", organisation=scene.bench.cast.elsewhere, slug="theirs", allow=["staff"])
    arrived = scene.program.post("corpus=library&external_id=h.pdf").json()["status"]
    scene.bench.deliver()
    sent = scene.program.post("corpus=library&external_id=i.pdf").json()["status"]
    assert [scene.program.send("GET", address).json()["state"] for address in (arrived, sent)] == ["queued", "sent"]
    address = scene.program.begin().json()["address"]
    absent = scene.other.send("GET", f"/api/v1/submissions/{new_id()}")
    assert absent.status_code == 404
    attempts = [
        scene.other.send("GET", arrived),
        scene.other.send("GET", sent),
        scene.other.send("GET", address),
        scene.other.part(address, 0, b"xxxx"),
        scene.other.send("POST", f"{address}/complete"),
        scene.other.send("DELETE", address),
        scene.other.post("corpus=library&external_id=h.pdf"),
        scene.other.begin(),
        scene.other.send("DELETE", "/api/v1/documents?corpus=library&external_id=h.pdf"),
        scene.program.post("corpus=theirs&external_id=h.pdf"),
        scene.program.post("corpus=archive&external_id=h.pdf"),
        scene.program.post("corpus=nowhere&external_id=h.pdf"),
        scene.program.send("GET", f"/api/v1/uploads/{new_id()}"),
    ]
    for answer in attempts:
        assert (answer.status_code, answer.content, dict(answer.headers)) == (404, absent.content, dict(absent.headers))
    assert OutboxEvent.objects.filter(topic="docmemo.documents").count() == 2
    assert Upload.objects.get().state == "open"


def test_a_token_opens_until_it_ends(scene: Scene) -> None:
    assert scene.program.post("corpus=library&external_id=1").status_code == 202
    late = Program(token_issue(actor="test", source=scene.source, name="late", expires_at=timezone.now() - timedelta(seconds=1)))
    nobody = (late, Program(), Program("docmemo_wrong"), Program(ApiToken.objects.first().digest))
    for program in nobody:
        answer = program.post("corpus=library&external_id=2")
        assert (answer.status_code, answer.json()["error"]) == (401, "token_required")
    assert token_revoke(actor="test", source=scene.source, name="default") == 1
    assert scene.program.post("corpus=library&external_id=3").status_code == 401


def test_a_token_of_a_source_that_was_closed_opens_nothing(scene: Scene) -> None:
    Source.objects.update(active=False)
    assert scene.program.post("corpus=library&external_id=1").status_code == 401


def test_the_token_itself_is_kept_nowhere(scene: Scene) -> None:
    kept = [str(list(model.objects.values())) for model in (ApiToken, AuditEntry, AuditPayload, OutboxEvent)]
    assert not any(scene.program.token in text for text in kept)


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "content", "status", "code"),
    [
        ("external_id=a", PAGES, 400, "bad_request"),
        ("corpus=library", PAGES, 400, "bad_request"),
        ("corpus=library&external_id=", PAGES, 400, "bad_request"),
        ("corpus=library&external_id=a%00b", PAGES, 400, "bad_request"),
        ("corpus=library&external_id=" + "a" * 901, PAGES, 400, "bad_request"),
        ("corpus=library&external_id=a&colour=red", PAGES, 400, "bad_request"),
        ("corpus=library&external_id=a&allow=a%0Ab", PAGES, 400, "bad_request"),
        ("corpus=library&external_id=a&password=secret", PAGES, 400, "bad_request"),
        ("corpus=library&external_id=a", b"", 422, "empty_file"),
        ("corpus=library&external_id=a", b"x" * 101, 413, "too_large"),
    ],
)
def test_refusals_say_what_is_wrong(scene: Scene, settings: LazySettings, query: str, content: bytes, status: int, code: str) -> None:
    settings.PIPELINE = {**settings.PIPELINE, "MAX_DOCUMENT_BYTES": 100}
    answer = scene.program.post(query, content)
    assert (answer.status_code, answer.json()["error"]) == (status, code)
    assert answer.json()["message"] and "secret" not in answer.content.decode().replace("X-Document-Password", "")
    assert not OutboxEvent.objects.filter(topic="docmemo.documents").exists()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"corpus": "\\ud800"}', b"[" * 100_000, b"\xff"])
def test_bodies_that_are_no_declaration(scene: Scene, body: bytes) -> None:
    answer = scene.program.send("POST", "/api/v1/uploads", body, "application/json")
    assert (answer.status_code, answer.json()["error"]) == (400, "bad_request")


def test_forms_that_are_none(scene: Scene) -> None:
    kind = "multipart/form-data; boundary=x"
    for body in (b"", b"--x\r\n", b"nothing", b"--x--"):
        assert scene.program.send("POST", "/api/v1/documents", body, kind).status_code == 400
    assert scene.program.send("POST", "/api/v1/documents", b"x", "multipart/form-data").status_code == 400


def test_other_methods(scene: Scene) -> None:
    answer = scene.program.send("GET", "/api/v1/documents")
    assert (answer.status_code, answer["Allow"]) == (405, "POST, DELETE")


def test_a_body_larger_than_any_door_takes_is_not_read(scene: Scene, settings: LazySettings) -> None:
    settings.MAX_BODY_BYTES = 1000
    for path in ("/api/v1/documents", "/signin/", f"/console/corpora/{scene.corpus.id}/upload"):
        client = Client(enforce_csrf_checks=True)
        assert client.generic("POST", path, b"x" * 1001, "multipart/form-data; boundary=x").status_code == 413
        assert client.generic("POST", path, b"x" * 1000, "multipart/form-data; boundary=x").status_code in (401, 403)


def test_a_body_of_unknown_length_is_refused(scene: Scene) -> None:
    client = Client(headers={"Authorization": f"Bearer {scene.program.token}", "Transfer-Encoding": "chunked"})
    answer = client.generic("POST", "/api/v1/documents?corpus=library&external_id=a", b"", "application/pdf")
    assert (answer.status_code, answer.json()["error"]) == (411, "length_required")


# --- in parts --------------------------------------------------------------------------------------------


def test_a_document_in_parts(scene: Scene) -> None:
    begun = scene.program.begin(sha256=hashlib.sha256(PAGES).hexdigest(), title="Big", allow=["staff"])
    assert begun.status_code == 201
    address = begun.json()["address"]
    middle = scene.program.part(address, 0, PAGES[:10])
    assert (middle.status_code, middle["Upload-Offset"], middle.json()["offset"]) == (200, "10", 10)
    assert scene.program.send("POST", f"{address}/complete").json()["error"] == "upload_incomplete"
    assert scene.program.part(address, 10, PAGES[10:], method="PUT").status_code == 200
    done = scene.program.send("POST", f"{address}/complete")
    again = scene.program.send("POST", f"{address}/complete")
    assert done.status_code == again.status_code == 202 and done.json() == again.json()
    assert (UploadPart.objects.count(), _blobs(scene)) == (0, [])
    scene.bench.deliver()
    scene.bench.work()
    assert scene.program.send("GET", done.json()["status"]).json()["state"] == "published"
    assert (Document.objects.get().title, Document.objects.get().live_version.bytes) == ("Big", len(PAGES))


def test_a_part_at_another_offset_is_told_the_right_one(scene: Scene) -> None:
    address = scene.program.begin().json()["address"]
    scene.program.part(address, 0, PAGES[:10])
    for wrong in (0, 5, 11, 30):
        answer = scene.program.part(address, wrong, PAGES[wrong : wrong + 10] or b"xxxx")
        assert (answer.status_code, answer.json()["offset"]) == (409, 10)
    assert scene.program.send("GET", address).json()["offset"] == 10
    for odd in ("", "-1", "x", "1.0", "9" * 16):
        assert scene.program.part(address, odd, b"xxxx").status_code == 400


def test_parts_keep_to_their_bounds(scene: Scene) -> None:
    address = scene.program.begin().json()["address"]
    assert scene.program.part(address, 0, b"x" * 65).json()["error"] == "part_too_large"
    assert scene.program.part(address, 0, b"x" * (len(PAGES) + 1)).json()["error"] == "part_too_large"
    assert scene.program.part(address, 0, b"x" * 3).json()["error"] == "part_too_small"
    assert scene.program.part(address, 0, b"").json()["error"] == "part_too_small"
    assert (UploadPart.objects.count(), _blobs(scene)) == (0, [])


def test_other_bytes_than_announced_are_not_handed_in(scene: Scene) -> None:
    address = scene.program.begin(sha256="0" * 64).json()["address"]
    scene.program.part(address, 0, PAGES)
    answer = scene.program.send("POST", f"{address}/complete")
    assert (answer.status_code, answer.json()["error"]) == (422, "wrong_sha256")
    assert (Upload.objects.get().state, _blobs(scene)) == ("abandoned", [])
    assert scene.program.part(address, len(PAGES), b"xxxx").json()["error"] == "upload_closed"
    assert not OutboxEvent.objects.filter(topic="docmemo.documents").exists()


def test_one_source_has_a_bounded_number_open(scene: Scene) -> None:
    begun = [scene.program.begin(external_id=str(number)) for number in range(4)]
    assert [answer.status_code for answer in begun] == [201, 201, 201, 429]
    assert scene.program.send("DELETE", begun[0].json()["address"]).status_code == 204
    assert scene.program.begin().status_code == 201


def test_a_size_above_the_limit_is_refused_before_any_part(scene: Scene, settings: LazySettings) -> None:
    settings.PIPELINE = {**settings.PIPELINE, "MAX_DOCUMENT_BYTES": 10}
    assert scene.program.begin(bytes=11).json()["error"] == "too_large"
    assert scene.program.begin(bytes=0).json()["error"] == "bad_request"


def test_what_is_left_alone_is_swept(scene: Scene, settings: LazySettings) -> None:
    old, fresh = (scene.program.begin(external_id=name).json()["address"] for name in ("old", "fresh"))
    for address in (old, fresh):
        scene.program.part(address, 0, PAGES[:10])
    Upload.objects.filter(external_id="old").update(touched_at=timezone.now() - timedelta(days=2))
    assert (uploads_sweep(), uploads_sweep()) == (1, 0)
    assert dict(Upload.objects.values_list("external_id", "state")) == {"old": "abandoned", "fresh": "open"}
    assert len(_blobs(scene)) == UploadPart.objects.count() == 1
    assert scene.program.part(fresh, 10, PAGES[10:]).status_code == 200


def test_what_ended_long_ago_is_forgotten(scene: Scene) -> None:
    address = scene.program.begin().json()["address"]
    scene.program.part(address, 0, PAGES)
    scene.program.send("POST", f"{address}/complete")
    uploads_sweep()
    assert Upload.objects.count() == 1
    Upload.objects.update(touched_at=timezone.now() - timedelta(days=8))
    uploads_sweep()
    assert scene.program.send("GET", address).status_code == 404


def test_parts_that_a_death_left_behind_are_swept(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    from ingestion.services import uploads

    address = scene.program.begin().json()["address"]
    scene.program.part(address, 0, PAGES)

    def die(_upload: Upload) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(uploads, "_parts_remove", die)
    with pytest.raises(KeyboardInterrupt):
        scene.program.send("POST", f"{address}/complete")
    monkeypatch.undo()
    assert (Upload.objects.get().state, len(_blobs(scene))) == ("complete", 1)
    assert (uploads_sweep(), _blobs(scene)) == (1, [])


def test_a_part_that_a_crash_left_in_the_store_does_not_stand_for_the_one_sent_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = scene.program.begin().json()["address"]

    def die(**_fields: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(UploadPart.objects, "create", die)
    with pytest.raises(KeyboardInterrupt):
        scene.program.part(address, 0, b"y" * 20)
    monkeypatch.undo()
    assert scene.program.send("GET", address).json()["offset"] == 0
    scene.program.part(address, 0, PAGES)
    answer = scene.program.send("POST", f"{address}/complete")
    scene.bench.deliver()
    scene.bench.work()
    assert scene.program.send("GET", answer.json()["status"]).json()["state"] == "published"
    assert Document.objects.get().live_version.content_sha256 == hashlib.sha256(PAGES).hexdigest()
    assert _blobs(scene) == []


# --- passwords -------------------------------------------------------------------------------------------


def test_a_password_is_kept_sealed_and_stands_nowhere_else(scene: Scene, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    secret = "correct horse battery"
    scene.program.post("corpus=library&external_id=a", PAGES, X_Document_Password=secret)
    address = scene.program.begin(password=secret).json()["address"]
    scene.program.part(address, 0, PAGES)
    assert secret.encode() not in bytes(Upload.objects.get().sealed_password)
    scene.program.send("POST", f"{address}/complete")
    scene.bench.deliver()
    scene.bench.work()
    row = DocumentPassword.objects.get()
    assert load("seal").open(bytes(row.sealed)) == secret and row.proven_at is not None
    kept = [str(list(m.objects.values())) for m in (OutboxEvent, InboxEvent, AuditEntry, AuditPayload, Upload, DocumentPassword)]
    assert not any(secret in text for text in (*kept, caplog.text))


def test_a_password_in_a_header_is_read_as_utf_8(scene: Scene) -> None:
    on_the_wire = "Straße 日本".encode().decode("latin-1")
    scene.program.post("corpus=library&external_id=a", PAGES, X_Document_Password=on_the_wire)
    assert load("seal").open(bytes(DocumentPassword.objects.get().sealed)) == "Straße 日本"


def test_the_role_that_reads_evidence_cannot_read_secrets(scene: Scene) -> None:
    for model in (ApiToken, DocumentPassword, Upload):
        with pytest.raises(ProgrammingError, match="permission denied"):
            list(model.objects.using("evidence").all())
        list(model.objects.all())
