"""Beside the database of a working installation, in logs, task queue and announcements, stands no word that is someone's own."""

from __future__ import annotations

import json
from pathlib import Path

from ingestion.domain.events import DOCUMENTS_TOPIC, EVENTS_TOPIC
from ingestion.seams.event_bus.kafka import KafkaBus
from tests.journeys.installation import Installation

CANARY = "Zanzibar-canary-7719"


def _found(words: set[str], content: bytes) -> set[str]:
    return {word for word in words if word.encode() in content}


def _topic(installation: Installation, topic: str) -> bytes:
    ports = json.loads((installation.home / "run" / "services.json").read_text(encoding="utf-8"))
    bus = KafkaBus([f"127.0.0.1:{ports['kafka_port']}"], {"security_protocol": "PLAINTEXT"})
    return b"\n".join(message.value or b"" for message in bus.read_all(topic))


def test_no_log_queue_or_event_holds_a_word_of_a_document_a_question_or_a_secret(quickstarted: Installation, tmp_path: Path) -> None:
    home = quickstarted.home
    sample = json.loads((home / "sample" / "1" / "questions.json").read_text(encoding="utf-8"))["questions"]
    secrets = set(json.loads((home / "demo-passwords.json").read_text(encoding="utf-8")).values())
    secrets |= {v for k, v in json.loads((home / "run" / "services.json").read_text(encoding="utf-8")).items() if k.endswith("_password")}
    secrets.add((home / "run" / "secret_key").read_text(encoding="utf-8").strip())
    texts = {q["question"] for q in sample} | {words for q in sample for words in q["must_contain"] if len(words) > 7} | {CANARY}

    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\n" + f"1 0 obj << /Title ({CANARY}) >> endobj\n".encode() * 20)
    assert quickstarted.run("ingest", str(broken), "--corpus", "secrecy", "--allow", "staff").code == 1  # a parser's complaint may quote
    quickstarted.run("ask", f"Who is {CANARY}?", "--as", "bob", "--corpus", "demo")
    assert quickstarted.run("ask", sample[0]["question"], "--as", "alice", "--corpus", "demo").code == 0

    beside = [*(home / "log").iterdir(), *(p for p in (home / "valkey").rglob("*") if p.is_file())]
    assert len(beside) > 10
    told = {file.name: found for file in beside if (found := _found(texts | secrets, file.read_bytes()))}
    assert told == {}
    announced = _topic(quickstarted, EVENTS_TOPIC)
    assert b"answer.released" in announced and b"document.version.published" in announced
    assert _found(texts | secrets, announced) == set()
    assert _found(texts | secrets, _topic(quickstarted, DOCUMENTS_TOPIC)) == set()
