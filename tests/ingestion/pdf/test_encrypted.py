"""Encrypted PDFs, made here, through the real renderer and parser: published with their password, told to be encrypted without."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pikepdf
import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from reportlab.pdfgen.canvas import Canvas

from ingestion.models import Build, Corpus, Document, DocumentPassword, Job, PageText
from ingestion.seams import load
from ingestion.selectors.evidence import evidence_crop, evidence_scope
from ingestion.selectors.visibility import asker_for
from ingestion.services.documents import password_keep
from ingestion.services.pipeline import pipeline_fingerprint
from tests.ingestion.fakes import Workbench

PASSWORD = "Straße 47 ünlocks"
REAL = {
    "renderer": {"BACKEND": "ingestion.seams.renderer.pdfium.PdfiumRenderer"},
    "parser": {"BACKEND": "ingestion.seams.parser.pdfium_text.PdfiumTextParser"},
}


@pytest.fixture
def line(bench: Workbench, settings: LazySettings) -> Iterator[Workbench]:
    settings.SEAMS = {**settings.SEAMS, **REAL}
    load.cache_clear()
    pipeline_fingerprint.cache_clear()
    yield bench


def encrypted(revision: int = 6, password: str = PASSWORD) -> bytes:
    """A PDF of one page that opens with `password` only; revision 6 is AES-256, 4 is AES-128."""
    plain, sealed = io.BytesIO(), io.BytesIO()
    canvas = Canvas(plain)
    canvas.drawString(100, 700, "The harbour crane lifts twelve tonnes.")
    canvas.save()
    with pikepdf.open(plain) as pdf:
        pdf.save(sealed, encryption=pikepdf.Encryption(user=password, owner=password + "!", R=revision))
    return sealed.getvalue()


@pytest.mark.parametrize(("revision", "password"), [(6, PASSWORD), (4, "plain words")])
def test_with_its_password_a_file_is_published_and_read(line: Workbench, revision: int, password: str) -> None:
    document = line.publish(encrypted(revision, password), password=password)
    assert (line.newest_job().state, line.newest_job().reason) == ("published", "")
    assert "harbour crane" in PageText.objects.get(page__build=document.live_build).text
    page = document.live_build.pages.get()
    assert page.image_key and load("blobs").exists(page.image_key)
    alice = asker_for(line.cast.alice)
    crop = evidence_crop(alice, evidence_scope(alice, "library"), page.id, (0.1, 0.1, 0.9, 0.3))
    assert crop is not None and crop.startswith(b"\xff\xd8")


@pytest.mark.parametrize("password", ["", "wrong"])
def test_without_it_the_job_ends_as_encrypted_and_says_what_to_do(line: Workbench, password: str) -> None:
    line.publish(encrypted(), password=password)
    job = line.newest_job()
    assert (job.state, job.reason_code) == ("failed", "encrypted") and "password" in job.reason
    assert Document.objects.get().live_build is None


def test_the_password_may_come_later_and_a_wrong_one_is_replaced(line: Workbench) -> None:
    content = encrypted()
    line.publish(content, password="wrong")
    assert DocumentPassword.objects.get().proven_at is None
    document = line.publish(content, password=PASSWORD)
    assert document.live_version.number == 1 and Job.objects.filter(state="published").count() == 1


def test_a_password_that_opened_the_file_is_not_replaced_by_another(line: Workbench) -> None:
    content = encrypted()
    first = line.publish(content, password=PASSWORD)
    second = line.publish(content, "b.pdf", password="wrong")
    assert first.live_build and second.live_build and Build.objects.filter(state="live").count() == 2


def test_a_password_sealed_under_a_lost_key_counts_as_none_and_can_be_given_anew(line: Workbench, settings: LazySettings) -> None:
    document = line.publish(encrypted(), password=PASSWORD)
    blob = document.live_version.blob
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another key that is long enough to be one"
    load.cache_clear()
    assert DocumentPassword.objects.opened(blob, load("seal")) is None
    settings.SECRET_KEY_FALLBACKS = [old]
    load.cache_clear()
    assert DocumentPassword.objects.opened(blob, load("seal")) == PASSWORD
    settings.SECRET_KEY_FALLBACKS = []
    load.cache_clear()
    password_keep(blob=blob, password="anew")
    assert DocumentPassword.objects.opened(blob, load("seal")) == "anew"


def test_a_file_of_another_kind_is_refused_with_what_to_do(line: Workbench, tmp_path: Path) -> None:
    corpus: Corpus = line.corpus()
    line.publish(b"PK\x03\x04 and the rest of a word file", "report.docx", corpus=corpus)
    job = line.newest_job()
    assert (job.state, job.reason_code) == ("failed", "not_a_pdf")
    assert "Convert it to PDF" in job.reason and "Office document" in job.reason


def test_the_consoles_form_takes_the_password_and_never_shows_it_again(line: Workbench) -> None:
    corpus, client = line.corpus(), Client()
    client.force_login(line.cast.admin)
    address = f"/console/corpora/{corpus.id}/upload"
    form = {"narrow": "no", "password": f" {PASSWORD} ", "file": SimpleUploadedFile("crane.pdf", encrypted(password=f" {PASSWORD} "))}
    refused = client.post(address, {**form, "allow": "staff"})
    assert refused.status_code == 422 and PASSWORD not in refused.content.decode()
    form["file"].seek(0)
    assert client.post(address, form).status_code == 302
    line.deliver()
    line.work()
    assert line.newest_job().state == "published"
