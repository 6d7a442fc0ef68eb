"""The Celery application: queues by kind of work, late acknowledgement, JSON only. Settings come from Django's `CELERY_*`."""

from __future__ import annotations

import os

from celery import Celery
from kombu import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "docmemo_site.settings.base")

QUEUES = ("cpu", "parse", "embed", "describe", "publish", "answer")

app = Celery("docmemo")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_queues = [Queue(name) for name in QUEUES]
app.autodiscover_tasks(["workers"])
