"""Keeping what describe found: schema facts by page, and the postings that lexical search reads."""

from __future__ import annotations

from django.db import connection

from ingestion.domain.structure import PageFacts
from ingestion.models import Build, Page, Posting, SchemaFact, StageRun
from ingestion.stages.describe import Described

DESCRIBE_VERSION = "rules-1"

BODY_POSTINGS_SQL = """
insert into ingestion_posting (page_id, field, lexeme, build_id, access_class_id, frequency)
select p.id, 'b', w.lexeme, p.build_id, p.access_class_id, greatest(1, coalesce(array_length(w.positions, 1), 1))
  from ingestion_page p join ingestion_pagetext t on t.page_id = p.id,
       lateral unnest(to_tsvector(%(language)s::regconfig, t.text)) w
 where p.build_id = %(build)s
"""

HEADING_POSTINGS_SQL = """
insert into ingestion_posting (page_id, field, lexeme, build_id, access_class_id, frequency)
select p.id, 'h', w.lexeme, p.build_id, p.access_class_id, greatest(1, coalesce(array_length(w.positions, 1), 1))
  from ingestion_page p join unnest(%(numbers)s::int[], %(texts)s::text[]) h(number, text) on h.number = p.number,
       lateral unnest(to_tsvector(%(language)s::regconfig, h.text)) w
 where p.build_id = %(build)s
"""


def description_keep(run_row: StageRun, result: Described) -> None:
    """Type, language, schema facts and postings of the build."""
    build = Build.objects.get(id=run_row.job.build_id)
    build.language, build.document_type = result.language, result.document_type
    build.save(update_fields=["language", "document_type"])
    pages = {page.number: page for page in Page.objects.filter(build=build)}
    SchemaFact.objects.filter(page__build=build).delete()
    facts = [fact for described in result.pages for fact in _facts(pages[described.number], described)]
    SchemaFact.objects.bulk_create(facts, batch_size=2000)
    for described in result.pages:
        pages[described.number].role = described.role
    Page.objects.bulk_update(pages.values(), ["role"], batch_size=500)
    _postings_write(build, result)


def _facts(page: Page, described: PageFacts) -> list[SchemaFact]:
    facts = [
        SchemaFact(page=page, kind="role", value={"role": described.role}),
        SchemaFact(page=page, kind="prior", value={"value": described.prior, "reason": described.reason}),
    ]
    if described.section:
        facts.append(SchemaFact(page=page, kind="section", value={"path": list(described.section)}))
    facts.extend(
        SchemaFact(page=page, kind="caption", value={"label": label, "start": start, "end": end})
        for label, start, end in described.captions
    )
    return facts


def _postings_write(build: Build, result: Described) -> None:
    Posting.objects.filter(build=build).delete()
    headings = [(p.number, " . ".join(dict.fromkeys((*p.section, *p.headings)))) for p in result.pages]
    parameters = {
        "language": result.language,
        "build": build.id,
        "numbers": [number for number, _ in headings],
        "texts": [text for _, text in headings],
    }
    with connection.cursor() as cursor:
        cursor.execute(BODY_POSTINGS_SQL, parameters)
        cursor.execute(HEADING_POSTINGS_SQL, parameters)
