"""Addresses of the site: the portal and the audit are qa's, signing in, page pictures and the console ingestion's."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from docmemo_site.health import doors

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", doors.healthz, name="healthz"),
    path("readyz", doors.readyz, name="readyz"),
    path("metrics", doors.metrics_page, name="metrics"),
    path("", include("qa.urls")),
    path("", include("ingestion.urls")),
]
