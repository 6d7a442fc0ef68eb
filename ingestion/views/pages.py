"""The picture of a page, through the one door."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from ingestion.selectors.evidence import evidence_image
from ingestion.selectors.visibility import asker_for
from ingestion.views.guard import found


@require_safe
@login_required
def page_image(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """The picture (JPEG) of a page of a live version that the person may read now; anything else is 404."""
    picture = found(evidence_image(asker_for(request.user), page_id))
    return HttpResponse(picture, content_type="image/jpeg", headers={"Content-Disposition": "inline"})
