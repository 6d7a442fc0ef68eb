"""Documents that a question of the past never saw, of those that its asker may see now. Nobody is told of any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from ingestion.domain.evidence import Asker
from ingestion.selectors.evidence import rows, snapshot
from ingestion.selectors.visibility import VISIBLE_CLASSES_SQL, access_parameters

NEWER_SQL = f"""
with visible as ({VISIBLE_CLASSES_SQL}),
visible_then as ({VISIBLE_CLASSES_SQL.replace("%(tags)s", "%(then)s")})
select d.id, d.title, d.external_id, v.number
  from ingestion_document d
  join ingestion_corpus c on c.id = d.corpus_id and c.deleted_at is null
  join ingestion_documentversion v on v.id = d.live_version_id
  join ingestion_buildliveness l on l.build_id = d.live_build_id and l.live_to is null
 where d.organisation_id = %(organisation)s and c.organisation_id = %(organisation)s and c.slug = %(corpus)s
   and d.deleted_at is null and (%(document)s::uuid is null or d.id = %(document)s::uuid)
   and exists (select 1 from ingestion_buildaccesscount n
                where n.build_id = d.live_build_id and n.access_class_id in (select id from visible))
   and (l.epoch > %(epoch)s
        or not exists (select 1 from ingestion_buildaccesscount n
                        where n.build_id = d.live_build_id and n.access_class_id in (select id from visible_then)))
 order by l.epoch, d.id
"""


@dataclass(frozen=True, slots=True)
class Newer:
    document_id: UUID
    title: str
    version: int


def evidence_newer(asker: Asker, corpus_slug: str, document_id: UUID | None, epoch: int, tags_then: Iterable[UUID]) -> list[Newer]:
    """Documents that the asker sees now and that were published after `epoch`, or that the tags of then do not open."""
    parameters = {**access_parameters(asker), "corpus": corpus_slug, "document": document_id, "epoch": epoch}
    with snapshot():
        found = rows(NEWER_SQL, {**parameters, "then": sorted(tags_then)})
    return [Newer(key, title or external, version) for key, title, external, version in found]
