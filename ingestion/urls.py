"""Addresses of the doors that ingestion keeps: signing in, page pictures, the console, the API for programs."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path

from ingestion.views import access, api, console, documents, jobs, pages, signin, sources

urlpatterns = [
    path("signin/", signin.SignIn.as_view(), name="signin"),
    path("signout/", LogoutView.as_view(), name="signout"),
    path("pages/<uuid:page_id>/image", pages.page_image, name="page-image"),
    path("console/", console.corpora, name="console"),
    path("console/corpora/new/", console.corpus_new, name="console-corpus-new"),
    path("console/corpora/<uuid:corpus_id>/", console.corpus, name="console-corpus"),
    path("console/corpora/<uuid:corpus_id>/documents", console.corpus_documents, name="console-corpus-documents"),
    path("console/corpora/<uuid:corpus_id>/access", access.corpus_access, name="console-corpus-access"),
    path("console/corpora/<uuid:corpus_id>/upload", documents.upload, name="console-upload"),
    path("console/submissions/<uuid:event_id>/", console.submission, name="console-submission"),
    path("console/documents/<uuid:document_id>/", documents.document, name="console-document"),
    path("console/documents/<uuid:document_id>/access", access.document_access, name="console-document-access"),
    path("console/documents/<uuid:document_id>/explain", access.document_explain, name="console-document-explain"),
    path("console/documents/<uuid:document_id>/withdraw", documents.document_withdraw_view, name="console-document-withdraw"),
    path("console/jobs/<uuid:job_id>/", console.job, name="console-job"),
    path("console/jobs/", jobs.jobs, name="console-jobs"),
    path("console/jobs/all/<str:action>", jobs.jobs_act, name="console-jobs-act"),
    path("console/jobs/<uuid:job_id>/<str:action>", jobs.job_act, name="console-job-act"),
    path("console/sources/", sources.sources, name="console-sources"),
    path("console/sources/new/", sources.source_new, name="console-source-new"),
    path("console/sources/<uuid:source_id>/", sources.source, name="console-source"),
    path("console/sources/<uuid:source_id>/tokens", sources.source_token, name="console-source-token"),
    path("console/sources/<uuid:source_id>/<str:action>", sources.source_act, name="console-source-act"),
    path("api/v1/documents", api.documents, name="api-documents"),
    path("api/v1/submissions/<uuid:event_id>", api.submission, name="api-submission"),
    path("api/v1/uploads", api.uploads, name="api-uploads"),
    path("api/v1/uploads/<uuid:upload_id>", api.upload, name="api-upload"),
    path("api/v1/uploads/<uuid:upload_id>/complete", api.upload_completion, name="api-upload-complete"),
]
