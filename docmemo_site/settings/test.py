"""Settings of a test run: the product's, on embedded services of their own in a home of their own.

The process that loads these settings first makes the home and tells the processes it starts about it;
when it ends, whatever runs there is stopped and the home is removed.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from pathlib import Path

from docmemo_site.settings import env

# Workers of a run that is spread over several share nothing, so none takes the home of the run that started it.
_given = None if env.first_of_its_test_worker() else env.folder("DOCMEMO_TEST_HOME")
if _given is None:
    _home = Path(tempfile.mkdtemp(prefix="docmemo-test-"))
    env.share_with_children("DOCMEMO_TEST_HOME", str(_home))
else:
    _home = _given
env.share_with_children("DOCMEMO_HOME", str(_home))
for _name in (
    "DATABASE_URL",
    "DATABASE_READER_URL",
    "DATABASE_MIGRATOR_URL",
    "CELERY_BROKER_URL",
    "KAFKA_BOOTSTRAP_SERVERS",
    "SECRET_KEY",
    "SECRET_KEY_FALLBACKS",
    "DEBUG",
    "ALLOWED_HOSTS",
    "DOCMEMO_READER",
    "DOCMEMO_LANGUAGE_MODEL_URL",
    "DOCMEMO_ONNX_MODEL_DIR",
):
    # What a developer has configured for real use is none of a test's business.
    env.share_with_children(_name, "")

from docmemo_site.embedded.home import Home  # noqa: E402
from docmemo_site.embedded.state import load_or_create  # noqa: E402

load_or_create(Home(_home), durable=False)

from docmemo_site.settings.base import *  # noqa: E402, F403

ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def _clear(owner: int) -> None:
    if os.getpid() != owner:
        return
    from docmemo_site.embedded.control import remove

    remove(Home(_home))


if _given is None:
    atexit.register(_clear, os.getpid())
