"""The WSGI entrance of the site."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "docmemo_site.settings.base")

application = get_wsgi_application()
