"""The files that break ingestion, taken in by the command that a person types: each ends in a final state with a true reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingestion.pdf.odd_outcomes import OUTCOMES
from tests.journeys.installation import SHARED, Installation

ODD = SHARED / "odd" / "files"

pytestmark = pytest.mark.skipif(not ODD.exists(), reason="../shared/odd is not beside this checkout")


def test_every_odd_file_ends_as_its_row_allows(quickstarted: Installation) -> None:
    done = quickstarted.run("ingest", str(ODD), "--corpus", "odd", "--allow", "staff", "--json", seconds=1500)
    assert done.code == 1  # some failed, as they must
    ended = {Path(d["path"]).name: d for d in done.value["documents"]}
    assert set(ended) == set(OUTCOMES)
    wrong = {name: _outcome(d) for name, d in ended.items() if _outcome(d) not in OUTCOMES[name]}
    assert wrong == {}
    assert all(": " in d["reason"] for d in ended.values() if d["state"] == "failed")
    assert ended["gen__pages-5000.pdf"]["pages"] == 5000


def _outcome(document: dict) -> str:
    return "published" if document["state"] == "published" else document["reason"].split(":")[0]
