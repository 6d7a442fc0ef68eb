"""The ASGI entrance of the site."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "docmemo_site.settings.base")

application = get_asgi_application()
