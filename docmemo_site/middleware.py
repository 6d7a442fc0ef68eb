"""Response headers that every page carries, and the size above which no body is read."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from ingestion.selectors.schema import watch

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # Pages show evidence; what a view does not call cacheable is kept nowhere.
    "Cache-Control": "private, no-store",
}


class SecurityHeaders:
    """Adds the headers above wherever a view has not set its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response


class BodyLimit:
    """Refuses a body larger than any door takes before anything of it is read.

    Django bounds what a form holds in memory and not the files beside it; those would be written to disk whole, even for a
    stranger, since the form's token stands in the same body.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isascii() and length.isdigit() and int(length) > settings.MAX_BODY_BYTES:
            told = f"The file is too large: at most {settings.MAX_BODY_BYTES} bytes are taken in one request.\n"
            return HttpResponse(told, status=413, content_type="text/plain", headers={"Connection": "close"})
        return self.get_response(request)


# Says only that the process lives, whatever has become of the database.
WITHOUT_DATABASE = frozenset({"/alive/"})


class CodeFitsDatabase:
    """Answers 503 while the database is of another state than this process's code: an old process shows and changes nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path in WITHOUT_DATABASE:
            return self.get_response(request)
        gap = watch.look()
        if not gap:
            return self.get_response(request)
        response = HttpResponse(gap.sentence + "\n", status=503, content_type="text/plain; charset=utf-8")
        response.headers["Retry-After"] = "30"
        return response
