"""Addresses of the doors that questions keep: the portal and the audit."""

from __future__ import annotations

from django.urls import path

from qa.views import audit, portal, recall

urlpatterns = [
    path("", portal.ask, name="portal"),
    path("documents", portal.document_choice, name="document-choice"),
    path("questions/", portal.questions, name="questions"),
    path("runs/<uuid:run_id>/", portal.run, name="run"),
    path("runs/<uuid:run_id>/citations/<uuid:citation_id>/", portal.citation, name="citation"),
    path("recall/<uuid:document_id>/", recall.recall, name="recall"),
    path("audit/", audit.runs, name="audit"),
    path("audit/chain/", audit.chain, name="audit-chain"),
    path("audit/runs/<uuid:run_id>/", audit.trail, name="audit-trail"),
]
