"""What workers would be started: groups, limits, devices; no GPU is needed to see it."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from docmemo_site.embedded.programs import PROGRAMS
from docmemo_site.settings import env, work


def _option(argv: tuple[str, ...], name: str) -> str:
    return argv[argv.index(name) + 1]


def test_every_queue_has_one_worker_and_short_work_has_its_own() -> None:
    found = work.workers(devices=[])
    assert sorted(queue for one in found for queue in one.queues) == sorted(work.QUEUES)
    for one in found:
        if work.SHORT_QUEUES & set(one.queues):
            assert set(one.queues) <= work.SHORT_QUEUES


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("cpu+publish,parse+embed+describe,answer", "wait behind long work"),
        ("cpu,parse,embed,describe,publish", "each of"),
        ("cpu,cpu,parse,embed,describe,publish,answer", "each of"),
        ("cpu,parse,embed,describe,publish,answer,other", "each of"),
    ],
)
def test_groups_that_would_leave_work_alone_or_waiting_are_refused(monkeypatch: pytest.MonkeyPatch, groups: str, words: str) -> None:
    monkeypatch.setenv("DOCMEMO_WORKER_GROUPS", groups)
    with pytest.raises(ImproperlyConfigured, match=words):
        work.workers()


def test_each_queue_has_its_own_limits_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMEMO_WORKER_GROUPS", "cpu,parse,embed,describe,publish,answer")
    monkeypatch.setenv("DOCMEMO_QUEUE_PROCESSES", "cpu=7, answer=3")
    monkeypatch.setenv("DOCMEMO_QUEUE_PREFETCH", "publish=4")
    monkeypatch.setenv("DOCMEMO_QUEUE_MEMORY_MB", "parse=900")
    by_name = {one.name: one.argv() for one in work.workers()}
    assert [_option(by_name[name], "-c") for name in ("cpu", "answer", "embed")] == ["7", "3", "1"]
    assert [_option(by_name[name], "--prefetch-multiplier") for name in ("publish", "cpu")] == ["4", "1"]
    assert _option(by_name["parse"], "--max-memory-per-child") == str(900 * 1024)
    assert [_option(argv, "-Q") for argv in by_name.values()] == list(by_name)


@pytest.mark.parametrize("wrong", ["cpu", "cpu=0", "cpu=-1", "cpu=x", "nothing=3"])
def test_an_amount_that_makes_no_sense_stops_the_start(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("DOCMEMO_QUEUE_PROCESSES", wrong)
    with pytest.raises(ImproperlyConfigured, match="DOCMEMO_QUEUE_PROCESSES"):
        env.amounts("DOCMEMO_QUEUE_PROCESSES")


def test_with_devices_there_is_one_process_for_each_and_it_sees_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMEMO_DEVICES", "0, GPU-7")
    found = work.workers()
    on_device = [one for one in found if work.DEVICE_QUEUES & set(one.queues)]
    assert [(one.name, one.processes, one.environment()) for one in on_device] == [
        ("parse-embed-describe-0", 1, (("CUDA_VISIBLE_DEVICES", "0"),)),
        ("parse-embed-describe-1", 1, (("CUDA_VISIBLE_DEVICES", "GPU-7"),)),
    ]
    # replaced for its size, a process would load its model again
    assert all("--max-memory-per-child" not in one.argv() for one in on_device)
    assert all(one.environment() == () for one in found if one not in on_device)
    assert len({one.name for one in found}) == len(found)


def test_the_supervisor_starts_these() -> None:
    started = {program.name: program for program in PROGRAMS}
    for one in work.workers():
        assert (started[one.name].argv, started[one.name].environment) == (one.argv(), one.environment())
    assert {"consumer", "sweeper", "relay"} < set(started)


def test_the_commands_can_be_printed_for_a_process_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMEMO_DEVICES", "3")
    out = StringIO()
    call_command("workers", "--commands", "--json", stdout=out)
    command = json.loads(out.getvalue())["commands"]["parse-embed-describe-0"]
    assert command.startswith("CUDA_VISIBLE_DEVICES=3 python -m celery -A workers.app worker -Q parse,embed,describe -c 1 ")
