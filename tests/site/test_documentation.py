"""The documents say what the code does: each setting, stage, state, event type, audit act and reason stands in them."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from docmemo_site.settings import env
from ingestion.domain.events import EventType
from ingestion.domain.lifecycle import BuildState, InboxState, JobState, StageState
from ingestion.stages import PIPELINE

ROOT = Path(__file__).resolve().parents[2]
EVENTS = (ROOT / "ops" / "events.md").read_text(encoding="utf-8")


def _stands(name: str, text: str) -> bool:
    return f"`{name}`" in text


def test_settings() -> None:
    text = (ROOT / "ops" / "settings.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE))
    assert documented == {setting.name for setting in env.SETTINGS}


@pytest.mark.parametrize("states", [JobState, StageState, BuildState, InboxState, EventType])
def test_states_and_event_types(states) -> None:
    assert [state for state in states if not _stands(state.value, EVENTS)] == []


def test_stages() -> None:
    assert [stage.name for stage in PIPELINE if not _stands(stage.name, EVENTS)] == []


def test_audit_acts() -> None:
    acts = set()
    for folder in ("ingestion", "qa"):
        for path in (ROOT / folder).rglob("*.py"):
            acts |= set(re.findall(r'act="([a-z_.]+)"', path.read_text(encoding="utf-8")))
            acts |= set(re.findall(r'act="[a-z_.]+" if [^"]+ else "([a-z_.]+)"', path.read_text(encoding="utf-8")))
    assert acts and [act for act in sorted(acts) if not _stands(act, EVENTS)] == []


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = {p.stem for p in (ROOT / "docmemo_site" / "management" / "commands").glob("[a-z]*.py")} - {
        "migrate",
        "quickstart",
    }
    assert [name for name in sorted(commands) if name not in readme] == []


def _options(parser: argparse.ArgumentParser) -> set[str]:
    """The command's options, with those of its subcommands."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return set(parser._option_string_actions).union(*(_options(p) for action in inner for p in action.choices.values()))


def test_every_command_in_the_documents_exists() -> None:
    """Each `manage.py X` of the documents is a command, and each option after it is one of that command's."""
    commands = get_commands()
    wrong = []
    for path in (ROOT / "README.md", *sorted((ROOT / "ops").glob("*.md"))):
        for line in re.findall(r"manage\.py ([^`\n]+)", path.read_text(encoding="utf-8")):
            name = re.match(r"[a-z_]+", line)
            if name is None:  # such as `manage.py X`
                continue
            if name.group() not in commands:
                wrong.append(f"{path.name}: {line}")
                continue
            parser = load_command_class(commands[name.group()], name.group()).create_parser("manage.py", name.group())
            words = re.split(r"[,;(]|manage\.py", line)[0]
            known = _options(parser)
            wrong += [f"{path.name}: {line}" for option in re.findall(r"--[a-z-]+", words) if option not in known]
    assert not wrong
