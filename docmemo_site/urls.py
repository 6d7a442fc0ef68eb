"""Addresses of the site: the portal and the audit are qa's, signing in, page pictures and the console ingestion's."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path
from django.views.decorators.http import require_safe

from docmemo_site.health import doors


@require_safe
def alive(_request: HttpRequest) -> HttpResponse:
    """Says that the web process answers; says nothing about anything else."""
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns: list[URLPattern | URLResolver] = [
    path("alive/", alive, name="alive"),
    path("healthz", doors.healthz, name="healthz"),
    path("readyz", doors.readyz, name="readyz"),
    path("metrics", doors.metrics_page, name="metrics"),
    path("", include("qa.urls")),
    path("", include("ingestion.urls")),
]
