"""/healthz, /readyz and /metrics. Details are for this machine, and for who brings the token; others learn nothing."""

from __future__ import annotations

import ipaddress
from dataclasses import asdict

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe

from docmemo_site.health import metrics, readiness

# A proxy on this machine makes every stranger look local; it says so in one of these.
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_X_FORWARDED_HOST", "HTTP_VIA")


def is_trusted(request: HttpRequest) -> bool:
    """Asked from this machine and by no proxy, or with the token."""
    token = settings.METRICS_TOKEN
    given = request.META.get("HTTP_AUTHORIZATION", "")
    if token and constant_time_compare(given.encode("utf-8", "replace"), f"Bearer {token}".encode()):
        return True
    if any(name in request.META for name in FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """The process is alive; nothing else is asked."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when everything that serving needs answers, else 503; details for whom they are for."""
    checks = readiness.PROBER.look()
    ready = all(check.state == "ok" for check in checks)
    status = 200 if ready else 503
    if not is_trusted(request):
        return HttpResponse("ready\n" if ready else "not ready\n", status=status, content_type="text/plain")
    body = {"ready": ready, "checks": [asdict(check) for check in checks], "unattended": readiness.work_without_workers()}
    return JsonResponse(body, status=status)


@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    """Prometheus text; for strangers there is no such page."""
    if not is_trusted(request):
        raise Http404
    text, content_type = metrics.exposition()
    return HttpResponse(text, content_type=content_type)
