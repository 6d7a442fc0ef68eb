"""Keeping what the stages found: rows of one window, replacing what an earlier attempt left. Called under the run's lease."""

from __future__ import annotations

import numpy as np
from django.utils import timezone
from pgvector import HalfVector

from ingestion.domain.pages import ReadPage
from ingestion.models import (
    Block,
    Build,
    Document,
    DocumentPassword,
    EmbeddingSpace,
    MultiVector,
    Page,
    PageText,
    Passage,
    PassageVector,
    PooledVector,
    StageRun,
)
from ingestion.services.access import classes_for
from ingestion.stages.embed import Embedded
from ingestion.stages.inspect import Inspected
from ingestion.stages.render import KeptPicture


def inspection_keep(run_row: StageRun, result: Inspected) -> None:
    """Pages with their sizes and labels; they are visible to nobody before they are published."""
    inspection = result.inspection
    build = Build.objects.select_related("document").get(id=run_row.job.build_id)
    document = Document.objects.select_for_update().get(id=build.document_id)
    count = inspection.page_count
    build.page_count = count
    build.warnings = list(inspection.warnings)
    build.inspection = {
        "title": inspection.title,
        "outline": [[entry.title, entry.level, entry.page] for entry in inspection.outline],
        "attachments": list(inspection.attachments),
        "permissions_restricted": inspection.permissions_restricted,
        "repaired": inspection.repaired,
        "windows": [[first, min(first + result.window - 1, count)] for first in range(1, count + 1, result.window)],
    }
    build.save()
    # the file opened with the password that was kept, or needs none
    DocumentPassword.objects.filter(blob=run_row.job.version.blob, proven_at__isnull=True).update(proven_at=timezone.now())
    classes = classes_for(document, [page.number for page in inspection.pages])
    Page.objects.bulk_create(
        [
            Page(
                build=build,
                document=document,
                number=page.number,
                label=page.label[:64],
                width=page.width,
                height=page.height,
                rotation=page.rotation,
                access_class=classes[page.number],
            )
            for page in inspection.pages
        ],
        batch_size=1000,
        update_conflicts=True,
        unique_fields=["build", "number"],
        update_fields=["label", "width", "height", "rotation", "access_class"],
    )


def pictures_keep(run_row: StageRun, result: list[KeptPicture]) -> None:
    """Where each page's picture is kept, and what drawing it showed."""
    pages = {page.number: page for page in Page.objects.filter(build_id=run_row.job.build_id, number__in=[k.page.number for k in result])}
    for kept in result:
        page = pages[kept.page.number]
        page.image_key, page.image_sha256, page.blank = kept.key, kept.sha256, kept.page.blank
        page.warnings = list(kept.page.warnings)
    Page.objects.bulk_update(pages.values(), ["image_key", "image_sha256", "blank", "warnings"])


def texts_keep(run_row: StageRun, result: list[ReadPage]) -> None:
    """The canonical text, the places of its words, and the blocks of each page."""
    pages = {p.number: p for p in Page.objects.filter(build_id=run_row.job.build_id, number__in=[r.number for r in result])}
    PageText.objects.filter(page__in=pages.values()).delete()
    Block.objects.filter(page__in=pages.values()).delete()
    texts, blocks = [], []
    for read in result:
        page = pages[read.number]
        page.text_source, page.words = read.source.value, len(read.words)
        page.warnings = [*page.warnings, *(w for w in read.warnings if w not in page.warnings)]
        rows = [[w.start, w.end, w.line, *(round(side, 5) for side in w.box)] for w in read.words]
        texts.append(PageText(page=page, text=read.text, word_boxes=rows))
        blocks.extend(
            Block(
                page=page, ordinal=ordinal, kind=block.kind.value, level=block.level, label=block.label[:64],
                start=block.start, end=block.end, box=[round(side, 5) for side in block.box],
            )  # fmt: skip
            for ordinal, block in enumerate(read.blocks)
        )
    PageText.objects.bulk_create(texts)
    Block.objects.bulk_create(blocks, batch_size=2000)
    Page.objects.bulk_update(pages.values(), ["text_source", "words", "warnings"])


def vectors_keep(run_row: StageRun, result: Embedded) -> None:
    """Passages and their vectors, in the space that the embedder names."""
    space, _ = EmbeddingSpace.objects.get_or_create(
        name=result.space.name, fingerprint=result.space.fingerprint, defaults={"dimensions": result.space.dimensions}
    )
    build_id = run_row.job.build_id
    numbers = [page.embedding.number for page in result.pages]
    pages = {page.number: page for page in Page.objects.filter(build_id=build_id, number__in=numbers)}
    for model in (Passage, PooledVector, MultiVector):
        model.objects.filter(page__in=pages.values()).delete()
    passages, vectors, pooled, multi = [], [], [], []
    for embedded in result.pages:
        page, embedding = pages[embedded.embedding.number], embedded.embedding
        shared = {"page": page, "build_id": build_id, "access_class_id": page.access_class_id}
        for ordinal, (start, end) in enumerate(embedded.ranges):
            passage = Passage(ordinal=ordinal, start=start, end=end, **shared)
            passages.append(passage)
            if embedding.passages is not None:
                vectors.append(PassageVector(space=space, passage=passage, vector=HalfVector(embedding.passages[ordinal]), **shared))
        if embedding.pooled is not None:
            pooled.append(PooledVector(space=space, vector=HalfVector(embedding.pooled), **shared))
        if embedding.multi is not None:
            data = np.ascontiguousarray(embedding.multi, dtype=np.float16).tobytes()
            multi.append(MultiVector(space=space, tokens=len(embedding.multi), data=data, **shared))
    Passage.objects.bulk_create(passages, batch_size=2000)
    PassageVector.objects.bulk_create(vectors, batch_size=1000)
    PooledVector.objects.bulk_create(pooled, batch_size=1000)
    MultiVector.objects.bulk_create(multi, batch_size=100)
