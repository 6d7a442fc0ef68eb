"""The process of a drill: it chooses a home and a bus, tells its settings of them, and runs the course.

`python -m docmemo_site.drill.run`; people type `manage.py fault_drill`.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from docmemo_site.embedded.errors import EmbeddedError
from docmemo_site.embedded.home import Home
from docmemo_site.settings import env

NODES = {"embedded": 0, "kafka": 1, "cluster": 3}
# What a developer has configured for real use is none of a drill's business.
CLEARED = (
    "DATABASE_URL", "DATABASE_READER_URL", "DATABASE_MIGRATOR_URL", "CELERY_BROKER_URL", "KAFKA_BOOTSTRAP_SERVERS",
    "KAFKA_SECURITY_PROTOCOL", "SECRET_KEY", "DEBUG", "DOCMEMO_ONNX_MODEL_DIR", "DOCMEMO_TEST_HOME",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments, for the command and for this process alike."""
    parser.add_argument("--documents", type=int, default=40, metavar="N", help="how many documents live through the drill (default 40)")
    parser.add_argument("--faults", type=int, default=1, metavar="K", help="how often each kind of fault strikes (default 1)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of documents, events and the order of faults (default 1)")
    parser.add_argument(
        "--bus", choices=sorted(NODES), default="embedded",
        help="the embedded broker, one Apache Kafka node, or three of which one dies for good (both from KAFKA_HOME)",
    )  # fmt: skip
    parser.add_argument("--home", type=Path, metavar="DIR", help="a folder for the drill, kept afterwards; else a temporary one")
    parser.add_argument(
        "--without", choices=("lease", "commit-order"), default="",
        help="turn a safeguard off, to prove that the drill then fails: leases that run out, or 'commit first, then acknowledge'",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON value to standard output")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a drill; 0 when everything is consistent, 1 when it is not, 2 when it could not run."""
    parser = argparse.ArgumentParser(prog="fault_drill", description=__doc__)
    add_arguments(parser)
    wanted = parser.parse_args(argv)
    root = wanted.home.resolve() if wanted.home else Path(tempfile.mkdtemp(prefix="docmemo-drill-"))
    if wanted.home and root.exists() and any(root.iterdir()):
        _say(f"{root} is not empty; a drill wants a fresh home.")
        return 2
    home = Home(root)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # told to end, it stops what it started
    try:
        return _run(home, wanted)
    except EmbeddedError as error:
        _say(str(error))
        return 2
    finally:
        if not wanted.home:
            shutil.rmtree(home.outside, ignore_errors=True)
            shutil.rmtree(root, ignore_errors=True)


def _run(home: Home, wanted: argparse.Namespace) -> int:
    from docmemo_site.drill.brokers import Kafka

    for name in CLEARED:
        env.share_with_children(name, "")
    env.share_with_children("DOCMEMO_HOME", str(home.root))
    env.share_with_children("DOCMEMO_DRILL_WITHOUT", wanted.without)
    env.share_with_children("DJANGO_SETTINGS_MODULE", "docmemo_site.drill.settings")
    home.prepare()
    # A home inside the home: the supervisor ends every stray process of its own home, and brokers are not its own.
    brokers = Kafka(Home(home.root / "brokers"), NODES[wanted.bus]) if NODES[wanted.bus] else None
    try:
        if brokers is not None:
            _say(f"starting {len(brokers.nodes)} Apache Kafka node(s)")
            brokers.start()
            env.share_with_children("KAFKA_BOOTSTRAP_SERVERS", ",".join(brokers.addresses))
        return _course(home, wanted, brokers)
    finally:
        if brokers is not None:
            brokers.stop()


def _course(home: Home, wanted: argparse.Namespace, brokers: object) -> int:
    import django

    django.setup()
    # Brokers are shot here: that clients see it is no news.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    from docmemo_site.drill.course import Course, Wish

    wish = Wish(documents=wanted.documents, faults=wanted.faults, seed=wanted.seed, bus=wanted.bus)
    report = Course(home, wish, brokers, _say).run()  # type: ignore[arg-type]
    print(json.dumps(report.as_json(), indent=1) if wanted.json else report.as_text(), flush=True)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
