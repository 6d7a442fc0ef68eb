"""The site as a Django app: commands, checks, templates and static files that join both apps."""

from __future__ import annotations

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """Wires the site's system checks, and what deletion of a document has to reach."""

    name = "docmemo_site"
    label = "docmemo_site"
    verbose_name = "DocMemo"

    def ready(self) -> None:
        from docmemo_site import checks  # noqa: F401  (registers the checks)
        from ingestion.seams.derived_store import register
        from qa.services.derived import AnswersOfDocument

        register(AnswersOfDocument())
