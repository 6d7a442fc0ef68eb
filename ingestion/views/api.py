"""The HTTP API for programs that hand documents in. A bearer token stands for one source; sessions and cookies count for nothing.

Every answer is JSON. What is absent and what the source may not touch are the same 404. See ops/sources.md.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from ingestion.domain.errors import IngestionError, Permanent, failure
from ingestion.domain.intake import Submission, UploadDeclaration, submission_parse
from ingestion.models import Corpus, Source, Upload
from ingestion.selectors.progress import submissions_progress
from ingestion.selectors.sources import sent_by, source_of_digest, upload_of, writable_corpus
from ingestion.services.documents import document_deletion_send
from ingestion.services.sources import token_digest
from ingestion.services.uploads import (
    WrongOffset,
    submission_send,
    upload_abandon,
    upload_append,
    upload_begin,
    upload_complete,
)

MAX_JSON_BYTES = 256 * 1024
READ_AT_ONCE = 1 << 20
STATUS = {
    "too_large": 413, "part_too_large": 413, "length_required": 411, "too_many_uploads": 429, "wrong_offset": 409,
    "upload_incomplete": 409, "upload_closed": 409, "wrong_sha256": 422, "empty_file": 422, "body_cut": 400,
}  # fmt: skip
View = Callable[..., HttpResponse]


def for_programs(*methods: str) -> Callable[[View], View]:
    """Lets in who shows a valid token, and hands the view its source; failures become JSON with a code and a sentence."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @sensitive_post_parameters("password")
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            source = _source(request)
            if source is None:
                refusal = _problem(401, "token_required", "Send a valid token: Authorization: Bearer TOKEN.")
                refusal["WWW-Authenticate"] = 'Bearer realm="docmemo"'
                return refusal
            if request.method not in methods:
                refusal = _problem(405, "method_not_allowed", f"Use {' or '.join(methods)}.")
                refusal["Allow"] = ", ".join(methods)
                return refusal
            try:
                return view(request, source, *args, **kwargs)
            except Http404:
                return _problem(404, "not_found", "There is no such thing, or this source may not touch it.")
            except WrongOffset as error:
                return _problem(409, error.code, error.message, offset=error.offset)
            except IngestionError as error:
                return _problem(STATUS.get(error.code, 400), error.code, error.message)
            except (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent):
                return _problem(413, "too_large", "The request has more fields than are taken.")
            except (MultiPartParserError, UnreadablePostError):
                return _problem(400, "body_cut", "The body ended early or is no multipart form.")

        return guarded

    return decorate


def _source(request: HttpRequest) -> Source | None:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    token = token.strip()
    return source_of_digest(token_digest(token)) if scheme.lower() == "bearer" and 0 < len(token) <= 200 else None


def _problem(status: int, code: str, message: str, **more: Any) -> JsonResponse:
    return JsonResponse({"error": code, "message": message, **more}, status=status)


def _accepted(event_id: UUID) -> JsonResponse:
    """202: taken in; how far it has come stands at the status address."""
    address = reverse("api-submission", args=[event_id])
    return JsonResponse({"submission": str(event_id), "state": "sent", "status": address}, status=202, headers={"Location": address})


def _corpus(source: Source, told: Submission) -> Corpus:
    corpus = writable_corpus(source, told.corpus)
    if corpus is None:
        raise Http404
    return corpus


def _upload(source: Source, upload_id: UUID) -> Upload:
    upload = upload_of(source, upload_id)
    if upload is None:
        raise Http404
    return upload


# --- reading bodies --------------------------------------------------------------------------------------


def _length(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or ("" if "Transfer-Encoding" in request.headers else "0")
    if not (length.isascii() and length.isdigit()):
        raise Permanent("length_required", "Say how long the body is (Content-Length).")
    return int(length)


def _chunks(request: HttpRequest, limit: int, code: str) -> Iterator[bytes]:
    """The body piece by piece, never more than `limit` bytes of it. Raises `Permanent` with `code`, or body_cut."""
    length = _length(request)
    if length > limit:
        raise Permanent(code, f"The body has {length} bytes; at most {limit} are taken.")
    left = length
    while left:
        piece = request.read(min(READ_AT_ONCE, left))
        if not piece:
            raise Permanent("body_cut", f"The body ended {left} bytes early.")
        left -= len(piece)
        yield piece


def _json(request: HttpRequest) -> Any:
    if request.content_type != "application/json":
        raise Permanent("bad_request", "Send application/json.")
    try:
        return json.loads(b"".join(_chunks(request, MAX_JSON_BYTES, "too_large")))
    except (ValueError, RecursionError):
        raise Permanent("bad_request", "The body is no JSON.") from None


@contextmanager
def _raw(request: HttpRequest) -> Iterator[Path]:
    """The body as a file that goes with the block."""
    with tempfile.TemporaryDirectory(prefix="docmemo-body-") as folder:
        path = Path(folder) / "content"
        with path.open("wb") as file:
            for piece in _chunks(request, settings.PIPELINE["MAX_DOCUMENT_BYTES"], "too_large"):
                file.write(piece)
        if not path.stat().st_size:
            raise failure("empty_file")
        yield path


def _fields(values: Any) -> dict[str, Any]:
    """Fields of a form or an address; `allow` and `deny` may come more than once, and an empty one means nobody."""
    found: dict[str, Any] = {name: values.get(name) for name in values if name not in ("allow", "deny")}
    for name in ("allow", "deny"):
        if name in values:
            found[name] = [one for one in values.getlist(name) if one]
    return found


# --- the doors -------------------------------------------------------------------------------------------


@for_programs("POST", "DELETE")
def documents(request: HttpRequest, source: Source) -> HttpResponse:
    """POST hands in a document, as a form with `file` or as the body itself; DELETE takes one back."""
    if request.method == "DELETE":
        told = submission_parse(Submission, _fields(request.GET))
        event_id = document_deletion_send(
            actor=f"source:{source.name}", corpus=_corpus(source, told), external_id=told.external_id, source=source.name
        )
        return _accepted(event_id)
    return _form(request, source) if request.content_type == "multipart/form-data" else _body(request, source)


@sensitive_variables("told")
def _form(request: HttpRequest, source: Source) -> HttpResponse:
    _length(request)
    files = request.FILES.getlist("file")
    if len(files) != 1 or len(request.FILES) != 1:
        raise Permanent("bad_request", "Send one file, in the field file.")
    told = submission_parse(Submission, {"file_name": _plain(files[0].name), **_fields(request.POST)})
    corpus = _corpus(source, told)
    if not files[0].size:
        raise failure("empty_file")
    path = getattr(files[0], "temporary_file_path", None)
    content = Path(path()) if path else files[0].read()
    return _accepted(submission_send(source=source, corpus=corpus, told=told, content=content))


@sensitive_variables("told", "given")
def _body(request: HttpRequest, source: Source) -> HttpResponse:
    """Fields stand in the address, the password in a header: addresses are written into logs."""
    given = _fields(request.GET)
    if "password" in given:
        raise Permanent("bad_request", "password: send it in the header X-Document-Password, not in the address.")
    told = submission_parse(Submission, {**given, "password": _header_text(request, "X-Document-Password")})
    corpus = _corpus(source, told)
    with _raw(request) as path:
        return _accepted(submission_send(source=source, corpus=corpus, told=told, content=path))


def _header_text(request: HttpRequest, name: str) -> str:
    """A header as UTF-8, which senders write although a header is Latin-1 by its standard."""
    value = request.headers.get(name, "")
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _plain(name: str | None) -> str:
    return "".join(letter for letter in name or "" if letter.isprintable())[-500:]


@for_programs("GET", "HEAD")
def submission(_request: HttpRequest, source: Source, event_id: UUID) -> HttpResponse:
    """How far a document of this source has come."""
    if not sent_by(source, event_id):
        raise Http404
    progress = submissions_progress([event_id])[0]
    return JsonResponse(
        {
            "submission": str(event_id), "state": progress.state, "ended": progress.ended, "reason": progress.reason,
            "document": progress.document, "version": progress.version, "pages": progress.pages, "stage": progress.stage,
            "done": progress.done, "total": progress.total,
        }
    )  # fmt: skip


@for_programs("POST")
@sensitive_variables("told")
def uploads(request: HttpRequest, source: Source) -> HttpResponse:
    """Begins an upload in parts."""
    told = submission_parse(UploadDeclaration, _json(request))
    upload = upload_begin(source=source, corpus=_corpus(source, told), told=told)
    return JsonResponse(_told(upload), status=201, headers={"Location": reverse("api-upload", args=[upload.id])})


def _told(upload: Upload) -> dict[str, Any]:
    return {
        "upload": str(upload.id), "address": reverse("api-upload", args=[upload.id]), "state": upload.state,
        "offset": upload.received, "bytes": upload.bytes, "max_part_bytes": settings.UPLOADS["MAX_PART_BYTES"],
        "min_part_bytes": settings.UPLOADS["MIN_PART_BYTES"],
        "status": reverse("api-submission", args=[upload.event_id]) if upload.event_id else None,
    }  # fmt: skip


@for_programs("GET", "HEAD", "PATCH", "PUT", "DELETE")
def upload(request: HttpRequest, source: Source, upload_id: UUID) -> HttpResponse:
    """GET tells the offset, PATCH (or PUT) adds a part at the offset that the header Upload-Offset names, DELETE gives up."""
    held = _upload(source, upload_id)
    if request.method == "DELETE":
        upload_abandon(upload=held)
        return HttpResponse(status=204)
    if request.method in ("PATCH", "PUT"):
        offset = request.headers.get("Upload-Offset", "")
        if not (offset.isascii() and offset.isdigit() and len(offset) <= 15):
            raise Permanent("bad_request", "Name the offset of this part in the header Upload-Offset.")
        if int(offset) != held.received:
            raise WrongOffset(held.received)  # before the part is read
        content = b"".join(_chunks(request, settings.UPLOADS["MAX_PART_BYTES"], "part_too_large"))
        held.received = upload_append(upload=held, offset=int(offset), content=content)
    return JsonResponse(_told(held), headers={"Upload-Offset": str(held.received)})


@for_programs("POST")
def upload_completion(_request: HttpRequest, source: Source, upload_id: UUID) -> HttpResponse:
    """Hands the whole document in."""
    return _accepted(upload_complete(upload=_upload(source, upload_id)))
