"""Settings of the site. The environment is read in `env`, addresses are worked out in `addresses`."""

from __future__ import annotations

from kombu import Queue

from docmemo_site.settings import addresses, env, work

BASE_DIR = env.REPOSITORY
DOCMEMO_HOME = env.home()
# Services of the embedded default that these settings use: of postgres, valkey and kafka.
EMBEDDED_SERVICES = env.embedded_services()

# --- who may come in -------------------------------------------------------------------------------
DEBUG = env.flag("DEBUG")
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")

# --- stores and queues -----------------------------------------------------------------------------
if EMBEDDED_SERVICES:
    from docmemo_site.embedded.home import Home
    from docmemo_site.embedded.state import load_or_create

    EMBEDDED_STATE = load_or_create(Home(DOCMEMO_HOME))
else:
    EMBEDDED_STATE = None

if EMBEDDED_STATE is not None and "postgres" in EMBEDDED_SERVICES:
    DATABASES = {
        alias: {**addresses.database(alias, role, EMBEDDED_STATE.database_url(role)), "ENGINE": addresses.EMBEDDED_ENGINE}
        for alias, role in (("default", "writer"), ("evidence", "reader"), ("migrator", "migrator"))
    }
else:
    DATABASES = addresses.external_databases()

if EMBEDDED_STATE is not None and "valkey" in EMBEDDED_SERVICES:
    CELERY_BROKER_URL = EMBEDDED_STATE.broker_url
else:
    CELERY_BROKER_URL = env.text("CELERY_BROKER_URL")

if EMBEDDED_STATE is not None and "kafka" in EMBEDDED_SERVICES:
    KAFKA_BOOTSTRAP_SERVERS = [EMBEDDED_STATE.kafka_address]
    KAFKA_SECURITY = {"security_protocol": "PLAINTEXT"}
else:
    KAFKA_BOOTSTRAP_SERVERS = env.words("KAFKA_BOOTSTRAP_SERVERS")
    KAFKA_SECURITY = addresses.kafka_security()

SECRET_KEY = addresses.secret_key(DOCMEMO_HOME)
SECRET_KEY_FALLBACKS = addresses.secret_key_fallbacks(DOCMEMO_HOME)

# --- the cache: counts failed sign-ins for all web processes together --------------------------------
if CELERY_BROKER_URL.startswith(("redis://", "rediss://")):
    CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": CELERY_BROKER_URL, "KEY_PREFIX": "docmemo"}
    }

# --- the seams: which adapter serves which alias ---------------------------------------------------
_LANGUAGE_MODEL = {
    "base_url": env.text("DOCMEMO_LANGUAGE_MODEL_URL"),
    "model": env.text("DOCMEMO_LANGUAGE_MODEL_NAME"),
    "api_key": env.text("DOCMEMO_LANGUAGE_MODEL_KEY"),
}
READER = env.text("DOCMEMO_READER")
READERS = {
    "extractive": "qa.seams.reader.extractive.ExtractiveReader",
    "openai_compatible": "qa.seams.reader.openai_compatible.OpenAICompatibleReader",
}
SEAMS = {
    "blobs": {
        "BACKEND": "ingestion.seams.blobs.filesystem.FilesystemBlobs",
        "OPTIONS": {"root": DOCMEMO_HOME / "blobs"},
    },
    "renderer": {"BACKEND": "ingestion.seams.renderer.pdfium.PdfiumRenderer", "OPTIONS": {}},
    "parser": {"BACKEND": "ingestion.seams.parser.pdfium_text.PdfiumTextParser", "OPTIONS": {}},
    "page_embedder": {
        "BACKEND": "ingestion.seams.page_embedder.onnx_text.OnnxTextEmbedder",
        # None is the MiniLM that comes with the product; it reads English.
        "OPTIONS": {"folder": env.folder("DOCMEMO_ONNX_MODEL_DIR")},
    },
    "language_model": {
        "BACKEND": "ingestion.seams.language_model.openai_compatible.OpenAICompatible",
        "OPTIONS": _LANGUAGE_MODEL,
    },
    "event_bus": {
        "BACKEND": "ingestion.seams.event_bus.kafka.KafkaBus",
        "OPTIONS": {"bootstrap_servers": KAFKA_BOOTSTRAP_SERVERS, "security": KAFKA_SECURITY},
    },
    "task_queue": {"BACKEND": "ingestion.seams.task_queue.celery_queue.CeleryQueue", "OPTIONS": {}},
    "reader": {"BACKEND": READERS[READER], "OPTIONS": {}},
    "seal": {"BACKEND": "ingestion.seams.seal.fernet.FernetSeal", "OPTIONS": {}},
}

# --- where documents come from; each source names its kind ------------------------------------------
CONNECTORS = {
    "folder": "ingestion.seams.connector.folder.FolderConnector",
    "object_store": "ingestion.seams.connector.object_store.ObjectStoreConnector",
}
# A source's options name a secret by its variable, which begins with DOCMEMO_SOURCE_SECRET_.
SOURCE_SECRETS = env.source_secrets()

# --- limits of the pipeline; the code that works takes them as arguments ----------------------------
PIPELINE = {
    "MAX_DOCUMENT_BYTES": 200 * 1024 * 1024,
    "MAX_PAGES": 10_000,
    "PAGE_WINDOW": 25,
    "RENDER_LONG_SIDE": 1500,
    "STAGE_SECONDS": 600,  # one call in a parsing process
    "SANDBOX_MEMORY_BYTES": 2 * 1024**3,
    "LEASE_SECONDS": 60,
    "MAX_ATTEMPTS": env.number("DOCMEMO_STAGE_ATTEMPTS"),
    "DEADLINES": env.amounts("DOCMEMO_STAGE_DEADLINES"),
    "OFFER_AGAIN_SECONDS": 120,
    "AUDIT_HEADS_DIR": DOCMEMO_HOME / "heads",
    "MIN_FREE_BYTES": env.number("DOCMEMO_MIN_FREE_BYTES"),
    # What is kept where; each is looked at before much is written.
    "DISKS": {"the stored files": DOCMEMO_HOME / "blobs", "the embedded services": DOCMEMO_HOME},
}

# --- how long what is kept for a time only is kept, in days; 0 is for ever (`manage.py retention`) -----
RETENTION_DAYS = {
    "superseded_builds": env.number("DOCMEMO_KEEP_SUPERSEDED_BUILDS_DAYS"),
    "stage_runs": env.number("DOCMEMO_KEEP_STAGE_RUNS_DAYS"),
    "events": env.number("DOCMEMO_KEEP_EVENTS_DAYS"),
    "questions": env.number("DOCMEMO_KEEP_QUESTIONS_DAYS"),
}

# --- limits of uploads in parts ----------------------------------------------------------------------
UPLOADS = {
    "MAX_PART_BYTES": 16 * 1024 * 1024,
    "MIN_PART_BYTES": 64 * 1024,  # of all parts but the last
    "MAX_OPEN": 50,  # of one source
    "MAX_IDLE_SECONDS": 24 * 60 * 60,
    "KEPT_SECONDS": 7 * 24 * 60 * 60,  # an upload that ended, for a sender that asks again
}
# More than the largest document is read by no door; the rest is room for the fields of a form.
MAX_BODY_BYTES = PIPELINE["MAX_DOCUMENT_BYTES"] + 1024 * 1024

# --- queues and their workers ----------------------------------------------------------------------
WORK = {
    "QUEUES": work.QUEUES,
    "GROUPS": work.groups(),  # read here so that wrong ones stop every start
    "BACKLOG": env.amounts("DOCMEMO_QUEUE_BACKLOG"),
    "STOP_SECONDS": work.STOP_SECONDS,
    "QUESTION_SECONDS": env.number("DOCMEMO_QUESTION_SECONDS"),
    # A worker that has not been heard of for so long does not count as listening; it speaks every HEARTBEAT_SECONDS.
    "HEARTBEAT_SECONDS": 5,
    "SILENT_AFTER_SECONDS": 30,
    "HOW_TO_START": "python manage.py up" if EMBEDDED_SERVICES else "celery -A workers.app worker -Q {queue}",
}
METRICS_TOKEN = env.text("DOCMEMO_METRICS_TOKEN")

# --- people from outside ---------------------------------------------------------------------------
DIRECTORY_MAX_AGE_SECONDS = env.number("DOCMEMO_DIRECTORY_MAX_AGE_SECONDS")

# --- Celery ----------------------------------------------------------------------------------------
CELERY_TASK_SERIALIZER = "json"
CELERY_RESULT_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_DEFAULT_QUEUE = "cpu"
CELERY_TASK_QUEUES = [Queue(name) for name in work.QUEUES]
# Each task carries the limit of its stage; this one is for what carries none.
CELERY_TASK_TIME_LIMIT = max(*PIPELINE["DEADLINES"].values(), WORK["QUESTION_SECONDS"]) + WORK["STOP_SECONDS"]
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # A task that outlives this starts a second time, so it stays far above the hard time limit. What a
    # dead worker held comes back by the sweeper and the leases in the database, not by this.
    "visibility_timeout": 2 * CELERY_TASK_TIME_LIMIT + 3600,
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
    "queue_order_strategy": "priority",
    "priority_steps": list(range(10)),
    "sep": ":",
}
CELERY_TIMEZONE = "UTC"

# --- Django ----------------------------------------------------------------------------------------
AUTH_USER_MODEL = "ingestion.User"
LOGIN_URL = "/signin/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/signin/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "docmemo_site.urls"
WSGI_APPLICATION = "docmemo_site.wsgi.application"
ASGI_APPLICATION = "docmemo_site.asgi.application"

INSTALLED_APPS = [
    "docmemo_site.apps.SiteConfig",
    "qa",
    "ingestion",
    "django_htmx",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "docmemo_site.middleware.SecurityHeaders",
    "docmemo_site.middleware.BodyLimit",
    "docmemo_site.middleware.CodeFitsDatabase",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "docmemo_site" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "docmemo_site" / "static"]
# Static files are served from where they lie in the code: there is no collecting step to forget.
WHITENOISE_USE_FINDERS = True

LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 60 * 60
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

HTTPS = env.flag("DOCMEMO_HTTPS")
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "docmemo_site.logging_lines.OneLine"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env.text("DOCMEMO_LOG_LEVEL")},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.server": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        # Clients that announce every connection would bury the events.
        "kafka": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
    },
}
