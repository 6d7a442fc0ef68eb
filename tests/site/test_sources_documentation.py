"""What ops/sources.md says is what the code does: commands, options, outcomes, addresses, codes, states."""

from __future__ import annotations

import re
from pathlib import Path

from django.conf import settings

from docmemo_site.management.commands.sources import Command
from ingestion import urls
from ingestion.domain.intake import Submission, UploadDeclaration, UploadState
from ingestion.seams.connector import ConnectorError, Misconfigured, Unreachable, folder, object_store
from ingestion.selectors.progress import ENDS
from ingestion.views import api

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ops" / "sources.md").read_text(encoding="utf-8")


def _missing(names: object) -> list[str]:
    return [name for name in sorted(names) if f"`{name}`" not in TEXT]


def test_kinds_options_and_secrets() -> None:
    assert not [kind for kind in settings.CONNECTORS if f"--kind {kind}" not in TEXT]
    assert _missing(folder.KNOWN | object_store.KNOWN | object_store.SECRETS) == []


def test_outcomes_of_a_sync() -> None:
    written = set(re.findall(r'outcome\.state, outcome\.[^=]+ = "(\w+)"', (ROOT / "ingestion/services/source_sync.py").read_text()))
    assert written >= {"partial", "broke", "busy", "deletions_held"}
    assert _missing(written - {"busy"} | {"complete", Unreachable.code, Misconfigured.code}) == []
    assert {kind.code for kind in ConnectorError.__subclasses__()} == {
        Unreachable.code, Misconfigured.code, "item_gone", "item_changed",
    }  # fmt: skip


def test_verbs_of_the_command() -> None:
    parser = Command().create_parser("manage.py", "sources")
    verbs = next(action.choices for action in parser._actions if action.dest == "verb")
    assert not [verb for verb in verbs if f"manage.py sources {verb}" not in TEXT]


def test_addresses_codes_fields_and_states_of_the_api() -> None:
    routes = {str(pattern.pattern).split("<")[0].rstrip("/") for pattern in urls.urlpatterns if str(pattern.pattern).startswith("api/")}
    assert not [route for route in routes if f"/{route}" not in TEXT]
    source = Path(api.__file__).read_text() + Path(ROOT / "ingestion/services/uploads.py").read_text()
    raised = re.findall(r'(?:Permanent|Transient)\("(\w+)"', source) + re.findall(r'_problem\(\d+, "(\w+)"', source)
    codes = {*api.STATUS, *raised}
    assert _missing(codes) == []
    assert _missing({*Submission.model_fields, *UploadDeclaration.model_fields} | {state.value for state in UploadState}) == []
    assert not [state for state in ENDS if state not in TEXT]
