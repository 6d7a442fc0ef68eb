"""A small fixed part of the evaluation set: retrieval and the loop stay as good as they were measured."""

from __future__ import annotations

import pytest

from tests.journeys.installation import SHARED, Installation

EVAL = SHARED / "eval"
DOCUMENTS = 4
RECALL_AT_5 = 0.66  # the floor for the whole set; this part is easier

pytestmark = pytest.mark.skipif(not EVAL.exists(), reason="../shared/eval is not beside this checkout")


def test_retrieval_and_the_loop_hold_their_level(quickstarted: Installation) -> None:
    options = ("--subset", str(DOCUMENTS), "--no-library", "--organisation", "demo", "--json")
    done = quickstarted.run("evaluate", str(EVAL), *options, seconds=1500)
    assert done.code == 0, done.errors[-3000:]
    value = done.value
    assert value["documents"] == DOCUMENTS
    assert value["first_retrieval"]["recall@5"] >= RECALL_AT_5
    assert value["rounds"][-1]["recall"] >= value["static_list"]["recall"]
