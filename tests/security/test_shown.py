"""What people get to see of an answer made of attacks, in the portal, on the command line and as JSON; and what one who may not see
a document gets of it: nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from django.test import Client
from django.urls import reverse

from docmemo_site.management.commands.ask import outcome_text
from ingestion.models import Document
from qa.memory.trail import DraftCitation, DraftClaim
from qa.models import Citation, Run
from qa.seams.reader import ReadRequest, ReadResult, ReadStatus
from qa.seams.reader.scripted import ScriptedReader
from qa.selectors.outcome import run_outcome
from qa.selectors.record import run_record
from tests.ingestion.fakes import Workbench
from tests.security import invariants
from tests.security.attacks import IN_TEXT, Does
from tests.security.obedient import ObedientReader
from tests.security.world import FACT, QUESTION, cleaned

SHOWY = [a for a in IN_TEXT if a.does in (Does.LINKS, Does.PICTURES, Does.MARKUP)]
TITLE = "\u202e[Handbook](https://evil.example) <img src=x onerror=alert(1)>\x1b[2J ![i](//evil.example/i)"
ADDRESSES = {"href", "src", "action", "hx-get", "hx-post", "formaction", "xlink:href"}


class _Page(HTMLParser):
    """Every tag with its attributes, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _every_line(request: ReadRequest) -> ReadResult:
    """Each line of what was shown, word for word, as a claim of its own: the answer is nothing but attacks."""
    claims = []
    for page in request.pages:
        start = 0
        for line in page.text.split("\n"):
            if line.strip():
                claims.append(DraftClaim(line, (DraftCitation(page.page_id, start, start + len(line), line),)))
            start += len(line) + 1
    return ReadResult(ReadStatus.ANSWER, claims=tuple(claims), confidence=1.0)


@pytest.fixture
def shown(held: Workbench, ask: Callable[..., Run]) -> Run:
    text = "\n".join(cleaned(attack.text) for attack in SHOWY)
    held.publish(f"NOTES\n{text}", "notes\u202efdp.exe", title=TITLE)
    run = ask(ScriptedReader([_every_line], verbatim=True))
    assert run.verdict == "answered" and Citation.objects.filter(claim__answer__run=run).count() == len(SHOWY) + 1
    return run


def test_e_json_and_terminal(shown: Run) -> None:
    outcome = json.loads(json.dumps(run_outcome(shown)))
    texts = [outcome["answer"], *(claim["text"] for claim in outcome["claims"])]
    texts += [citation[key] for claim in outcome["claims"] for citation in claim["citations"] for key in ("title", "label")]
    assert [part for text in texts for part in invariants.active_parts(text)] == []
    printed = outcome_text(outcome)
    assert invariants.active_parts(printed) == []
    assert all(line[:1].isdigit() or line.startswith(("     ", "(")) for line in printed.split("\n"))  # no line is the document's


def test_e_portal_console_and_audit(shown: Run, held: Workbench) -> None:
    citation = Citation.objects.filter(claim__answer__run=shown, quote__contains="![logo]").first()
    document, cast = Document.objects.get(), held.cast
    visits = [
        (cast.alice, reverse("run", args=[shown.id])), (cast.alice, reverse("citation", args=[shown.id, citation.id])),
        (cast.alice, reverse("questions")), (cast.alice, reverse("portal") + "?corpus=library"),
        (cast.auditor, reverse("audit")), (cast.auditor, reverse("audit-trail", args=[shown.id])),
        (cast.admin, reverse("console-corpus", args=[document.corpus_id])), (cast.admin, reverse("console-document", args=[document.id])),
    ]  # fmt: skip
    for user, address in visits:
        client = Client()
        client.force_login(user)
        response = client.get(address)
        assert response.status_code == 200 and "img-src 'self'" in response["Content-Security-Policy"], address
        _is_inert(_Page(response.content.decode()), address)


def _is_inert(page: _Page, address: str) -> None:
    """Every address on the page is this site's own, no tag carries a script, and no text has a mark that hides or turns it."""
    for tag, attributes in page.tags:
        assert tag not in ("iframe", "object", "embed", "base"), (address, tag)
        for name, value in attributes.items():
            assert not name.startswith("on"), (address, tag, name)
            own = (value or "").startswith(("/", "?", "#")) and not (value or "").startswith("//")
            assert name not in ADDRESSES or own, (address, value)
    assert "alert" not in repr([tag for tag in page.tags if tag[0] == "script"]), address
    assert [part for text in page.texts for part in invariants.active_parts(text) if part.startswith("U+")] == [], address


def test_i_an_attack_that_the_asker_may_not_see_leaves_everything_as_it_was(held: Workbench, ask: Callable[..., Run]) -> None:
    held.publish(f"INTRODUCTION\nThe company makes pumps.\fWARRANTY\n{FACT}", "handbook.pdf")
    attack, outcomes = IN_TEXT[0], []
    for _ in range(2):
        reader = ObedientReader(attack, FACT, pictures=False)
        run = ask(reader)
        record = [{k: v for k, v in r["record"].items() if k != "cost"} for r in run_record(run)["rounds"]]
        outcomes.append(repr(({k: v for k, v in run_outcome(run).items() if k not in ("run", "cost")}, record)))
        assert reader.obeyed == 0 and run.verdict == "answered"
        held.publish(f"BOARD\n{QUESTION} {attack.text}", "board.pdf", allow=("board",))
        other = held.corpus("salaries", allow=("board",))
        held.publish(f"BOARD\n{QUESTION} {attack.text}", "other.pdf", corpus=other)
    assert Document.objects.count() == 3 and outcomes[0] == outcomes[1]


def test_g_a_query_that_a_page_wrote_reaches_no_other_organisation(held: Workbench, ask: Callable[..., Run]) -> None:
    """The refined query is text of a page; it is searched for by the asker's own rights, in the run's own corpus."""
    attack = next(a for a in IN_TEXT if a.does is Does.ASKS_MORE)
    held.publish(f"DELIVERY\n{QUESTION} {attack.text}", "a.pdf")
    held.publish("SALARIES\nThe salary list of the board: 912345 euro.", "b.pdf", allow=("board",))
    run = ask(ObedientReader(attack, FACT, pictures=False))
    record = run_record(run, None)
    seen = {c["page_id"] for r in record["rounds"] for c in r["record"]["candidates"]}
    allowed = {str(p) for p in Document.objects.get(external_id="a.pdf").live_build.pages.values_list("id", flat=True)}
    assert seen and seen <= allowed and "912345" not in repr((record, [r.texts for r in run.rounds.all()]))
