"""The Celery application: queues by kind of work, late acknowledgement, JSON only. Settings come from Django's `CELERY_*`."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "docmemo_site.settings.base")

app = Celery("docmemo")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["workers"])
app.steps["consumer"].add("workers.heartbeat:Heartbeat")  # by name: the models are not ready yet
