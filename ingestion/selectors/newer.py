"""Documents that a question of the past never saw, of those that its asker may see now. Nobody is told of any other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from ingestion.domain.access import Tags
from ingestion.domain.evidence import Asker
from ingestion.models import AccessAssignment
from ingestion.selectors.as_of import shut_then
from ingestion.selectors.evidence import ALIAS, rows, snapshot
from ingestion.selectors.visibility import VISIBLE_CLASSES_SQL, access_parameters

NEWER_SQL = f"""
with visible as ({VISIBLE_CLASSES_SQL}),
visible_then as ({VISIBLE_CLASSES_SQL.replace("%(tags)s", "%(then)s")})
select d.id, d.title, d.external_id, v.number,
       l.epoch > %(epoch)s
        or not exists (select 1 from ingestion_buildaccesscount n
                        where n.build_id = d.live_build_id and n.access_class_id in (select id from visible_then))
  from ingestion_document d
  join ingestion_corpus c on c.id = d.corpus_id and c.deleted_at is null
  join ingestion_documentversion v on v.id = d.live_version_id
  join ingestion_buildliveness l on l.build_id = d.live_build_id and l.live_to is null
 where d.organisation_id = %(organisation)s and c.organisation_id = %(organisation)s and c.slug = %(corpus)s
   and d.deleted_at is null and (%(document)s::uuid is null or d.id = %(document)s::uuid)
   and exists (select 1 from ingestion_buildaccesscount n
                where n.build_id = d.live_build_id and n.access_class_id in (select id from visible))
   and (%(lists_changed)s or l.epoch > %(epoch)s
        or not exists (select 1 from ingestion_buildaccesscount n
                        where n.build_id = d.live_build_id and n.access_class_id in (select id from visible_then)))
 order by l.epoch, d.id
"""


@dataclass(frozen=True, slots=True)
class Newer:
    document_id: UUID
    title: str
    version: int


@dataclass(frozen=True, slots=True)
class Then:
    """What a question of the past could see: the corpus's epoch, the asker's tags, and the moment, for the lists in force."""

    epoch: int
    tags: Tags
    at: datetime


def evidence_newer(asker: Asker, corpus_slug: str, document_id: UUID | None, then: Then) -> list[Newer]:
    """Documents that the asker sees now and that were published since, or that the tags or the lists of then did not open to him."""
    changed = Q(valid_from__gt=then.at, corpus__organisation_id=asker.organisation_id, corpus__slug=corpus_slug)
    parameters = {
        **access_parameters(asker), "corpus": corpus_slug, "document": document_id, "epoch": then.epoch, "then": sorted(then.tags),
    }  # fmt: skip
    with snapshot():
        lists_changed = AccessAssignment.objects.using(ALIAS).filter(changed).exists()
        found = rows(NEWER_SQL, {**parameters, "lists_changed": lists_changed})
        shut = shut_then(asker.organisation_id, then.tags, then.at, [row[0] for row in found if not row[4]])
    return [Newer(key, title or external, version) for key, title, external, version, sure in found if sure or key in shut]
