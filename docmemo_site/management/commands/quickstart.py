"""`manage.py quickstart`: a demo organisation, the sample documents or your own, five questions, then the site."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from docmemo_site.intake import corpus_ensure, files_of, take_in
from docmemo_site.management.commands.ask import outcome_text
from docmemo_site.terminal import services_ready
from ingestion.models import Corpus, Organisation, Role, User
from ingestion.services.people import person_create
from qa.selectors.outcome import run_outcome
from qa.services.answering import run_execute
from qa.services.questions import question_ask

DEFAULT_SEED = 1
GROUP = "staff"
# who, groups, roles, what for
PEOPLE: tuple[tuple[str, str, tuple[str, ...], tuple[Role, ...], str], ...] = (
    ("admin", "Ada Admin", (), (Role.ORGANISATION_ADMIN,), "console: corpora, documents, jobs, access"),
    ("alice", "Alice Employee", (GROUP,), (), "portal: may read the documents"),
    ("bob", "Bob Employee", (), (), "portal: may not read them, and sees nothing of them"),
    ("auditor", "Otto Auditor", (), (Role.AUDITOR,), "audit: the trail of every answer"),
)


class Command(BaseCommand):
    help = "Set up the demo, take in the sample documents or a folder of your own, ask five questions, and serve the site."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="your own PDFs instead of the sample documents")
        parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help=f"of the sample documents (default {DEFAULT_SEED})")
        parser.add_argument("--no-serve", action="store_true", help="stop after the questions")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *_args: Any, **options: Any) -> None:
        services_ready(self.stderr.write, fresh=True)
        organisation, _ = Organisation.objects.get_or_create(slug="demo", defaults={"name": "Demo organisation"})
        passwords = self._people(organisation)
        if options["folder"]:
            corpus = self._own_folder(organisation, options["folder"])
            wrong = 0
        else:
            corpus, wrong = self._sample(organisation, options["seed"])
        self._farewell(corpus, passwords, options["port"])
        if wrong:
            raise CommandError(f"{wrong} of the five questions did not end as they should.")
        if not options["no_serve"]:
            self._serve(options["port"])

    def _people(self, organisation: Organisation) -> dict[str, str]:
        """The four people; passwords are drawn once and kept in the home, readable by its owner only."""
        path = Path(settings.DOCMEMO_HOME) / "demo-passwords.json"
        passwords = json.loads(path.read_text()) if path.exists() else {}
        for username, name, groups, roles, _ in PEOPLE:
            user = User.objects.filter(username=username).first()
            if user is None:
                passwords[username] = secrets.token_urlsafe(9)
                person_create(
                    organisation=organisation, username=username, password=passwords[username], name=name, groups=groups, roles=roles
                )
            elif username not in passwords or not user.check_password(passwords[username]):
                passwords[username] = "(as you set it)"
        path.touch(mode=0o600)
        path.write_text(json.dumps({k: v for k, v in passwords.items() if not v.startswith("(")}))
        return passwords

    def _own_folder(self, organisation: Organisation, folder: Path) -> Corpus:
        try:
            files, left_out = files_of([folder])
        except ValueError as error:
            raise CommandError(str(error), returncode=2) from error
        slug = re.sub(r"[^a-zA-Z0-9_-]+", "-", folder.resolve().name).strip("-").lower()[:60] or "documents"
        corpus, _ = corpus_ensure(organisation, slug, [GROUP], actor="quickstart")
        for path in left_out:
            self.stderr.write(f"left out, since it is not named .pdf: {path}")
        for one in take_in(files, corpus, allow=[], deny=[], actor="quickstart", seconds=4 * 3600):
            if one.state != "published" or one.reason:
                self.stdout.write(f"{one.path}: {one.state} {one.reason}")
        return corpus

    def _sample(self, organisation: Organisation, seed: int) -> tuple[Corpus, int]:
        folder = Path(settings.DOCMEMO_HOME) / "sample" / str(seed)
        script = settings.BASE_DIR / "ops" / "sample" / "generate.py"
        self.stderr.write(f"making the sample documents of seed {seed}")
        subprocess.run(
            [sys.executable, str(script), "--seed", str(seed), "--output", str(folder)], check=True, stdout=subprocess.DEVNULL
        )
        corpus, _ = corpus_ensure(organisation, "demo" if seed == DEFAULT_SEED else f"demo-{seed}", [GROUP], actor="quickstart")
        files, _ = files_of([folder])
        taken = take_in(files, corpus, allow=[], deny=[], actor="quickstart", seconds=3600)
        failed = [one for one in taken if one.state != "published"]
        if failed:
            raise CommandError("; ".join(f"{one.path}: {one.state} {one.reason}" for one in failed))
        return corpus, self._questions(folder, corpus)

    def _questions(self, folder: Path, corpus: Corpus) -> int:
        """Ask what the sample asks, as the employee with access; returns how many ended otherwise than they should."""
        expected = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
        alice = User.objects.get(username="alice")
        wrong = 0
        for question in (q for q in expected["questions"] if q.get("ask")):
            run = question_ask(user=alice, corpus_slug=corpus.slug, text=question["question"])
            run_execute(run.id)
            run.refresh_from_db()
            outcome = run_outcome(run)
            right = outcome_is_right(question, outcome)
            wrong += not right
            self.stdout.write(f"\nQ: {question['question']}\n{outcome_text(outcome)}")
            if not right:
                self.stdout.write(f"   NOT as expected: {question['verdict']}, {question.get('must_contain')}")
        return wrong

    def _farewell(self, corpus: Corpus, passwords: dict[str, str], port: int) -> None:
        self.stdout.write(f"\nThe corpus {corpus.slug} is ready. People of the demo organisation:")
        for username, _, _, _, purpose in PEOPLE:
            self.stdout.write(f"  {username:<8} {passwords[username]:<14} {purpose}")
        python = os.path.relpath(sys.executable)
        self.stdout.write(
            f"\nAsk on the command line:  {python} manage.py ask 'your question' --as alice --corpus {corpus.slug}\n"
            f"Ask in the browser:       http://127.0.0.1:{port}/\n"
            f"Take in more documents:   {python} manage.py ingest FOLDER --corpus {corpus.slug}\n"
            f"Stop all that runs:       {python} manage.py down"
        )

    def _serve(self, port: int) -> None:
        self.stdout.write(f"\nServing on http://127.0.0.1:{port}/ (Ctrl-C ends the site; the workers go on until manage.py down)")
        self.stdout.flush()
        gunicorn = Path(sys.executable).parent / "gunicorn"
        os.execv(
            gunicorn,
            [
                str(gunicorn), "docmemo_site.wsgi:application", "--bind", f"127.0.0.1:{port}", "--workers", "2", "--threads", "4",
                "--access-logfile", "/dev/null", "--no-control-socket",
            ],
        )  # fmt: skip


def outcome_is_right(question: dict[str, Any], outcome: dict[str, Any]) -> bool:
    """An answer has to hold every expected part and cite an expected page; for a question without an answer any abstention is right."""
    if question["verdict"] != "answered":
        return bool(outcome["verdict"] != "answered")
    text = " ".join((outcome["answer"] or "").split()).lower()
    cited = {(c["external_id"], c["page"]) for claim in outcome["claims"] for c in claim["citations"]}
    gold = {(file, page) for file, page in question["pages"]}
    return all(" ".join(part.split()).lower() in text for part in question["must_contain"]) and gold <= cited
