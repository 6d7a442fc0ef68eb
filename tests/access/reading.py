"""Reading as the reader's role, beside every filter of the product; and documents to read."""

from __future__ import annotations

import pytest
from django.db import connections

from ingestion.models import Page
from ingestion.selectors.evidence import ALIAS, CLAIM_SQL
from ingestion.services.corpora import access_replace
from tests.ingestion.fakes import Workbench

TEXT = "\f".join(["INTRODUCTION\nthe company makes pumps", "PRICES\nthe pump costs 1200 euro", "SERVICE\nservice is free in year one"])
HIDDEN = "\f".join(["SECRETS\nthe merger is planned", "MORE\nthe plan costs 9000000 euro"])


@pytest.fixture
def papers(bench: Workbench) -> Workbench:
    """One document for staff, one of whose three pages is for finance alone, and one document for finance."""
    document = bench.publish(TEXT, external_id="open.pdf")
    access_replace(actor="test", corpus=document.corpus, document=document, page_number=2, allow=("finance",))
    bench.publish(HIDDEN, external_id="hidden.pdf", allow=("finance",))
    return bench


def query(sql: str, *parameters: object) -> list[tuple]:
    with connections[ALIAS].cursor() as cursor:
        cursor.execute(sql, parameters or None)
        return cursor.fetchall()


def claim(organisation: object, tags: object) -> None:
    query(CLAIM_SQL, str(organisation), ",".join(sorted(map(str, tags))) if not isinstance(tags, str) else tags)


def as_migrator(*statements: str) -> list[tuple]:
    with connections["migrator"].cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def pages_seen() -> int:
    return Page.objects.using(ALIAS).count()


def backend() -> int:
    return query("select pg_backend_pid()")[0][0]
