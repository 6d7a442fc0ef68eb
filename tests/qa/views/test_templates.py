"""What holds for every template and every view: all output is escaped, nothing comes from elsewhere, no query stands in a view."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = sorted(path for app in ("docmemo_site", "ingestion", "qa") for path in (ROOT / app / "templates").rglob("*.html"))
VIEWS = sorted(path for app in ("ingestion", "qa") for path in (ROOT / app / "views").glob("*.py"))
FORBIDDEN = {
    "unescaped output": r"\|\s*safe|autoescape|mark_safe|\|\s*safeseq",
    "an inline style": r"\sstyle\s*=",
    "an inline script": r"<script(?![^>]*\ssrc=\"\{% static)|\son[a-z]+\s*=|javascript:|hx-on",
    "something from elsewhere": r"(src|href|action)\s*=\s*[\"'](https?:)?//",
}


def test_there_are_templates() -> None:
    assert len(TEMPLATES) > 25 and len(VIEWS) > 8


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
def test_a_template_holds_nothing_forbidden(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [what for what, pattern in FORBIDDEN.items() if re.search(pattern, text, re.IGNORECASE)] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
def test_a_form_that_changes_something_carries_its_token(path: Path) -> None:
    forms = re.findall(r"<form[^>]*method=\"post\".*?</form>", path.read_text(encoding="utf-8"), re.DOTALL)
    assert all("{% csrf_token %}" in form for form in forms)


@pytest.mark.parametrize("path", VIEWS, ids=lambda p: p.name)
def test_a_view_asks_selectors_and_services(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\.objects\b|\.filter\(|connection|\.save\(|\.delete\(\)|mark_safe", text)


def test_styles_load_nothing_from_elsewhere() -> None:
    for path in (ROOT / "docmemo_site" / "static" / "docmemo").glob("*.css"):
        assert not re.search(r"url\(|@import", path.read_text(encoding="utf-8")), path


def test_htmx_is_the_file_whose_licence_lies_beside_it() -> None:
    folder = ROOT / "docmemo_site" / "static" / "vendor"
    digest = hashlib.sha256((folder / "htmx.min.js").read_bytes()).hexdigest()
    assert digest in (folder / "htmx.LICENSE.txt").read_text(encoding="utf-8")


def test_every_colour_comes_from_the_tokens() -> None:
    """Light and dark differ in the tokens alone; a page of paper is white in both."""
    text = (ROOT / "docmemo_site" / "static" / "docmemo" / "site.css").read_text(encoding="utf-8")
    assert set(re.findall(r"#[0-9a-fA-F]{3,8}\b", text)) <= {"#fff"}


PAIRS = (
    [(ink, ground) for ink in ("ink", "ink-soft", "accent") for ground in ("paper", "ground", "sunken")]
    + [("accent-ink", "accent"), ("accent", "accent-ground"), ("paper", "bad"), ("ink", "accent-ground")]
    + [(name, f"{name}-ground") for name in ("good", "warn", "bad")]
    + [("ink", f"{name}-ground") for name in ("good", "warn", "bad")]
)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_level_aa(scheme: str) -> None:
    """Relative luminance and contrast ratio as WCAG 2.1 defines them; 4.5 for text, 3 for the edges of fields."""
    text = (ROOT / "docmemo_site" / "static" / "docmemo" / "tokens.css").read_text(encoding="utf-8")
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    colours = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6});", light))
    if scheme == "dark":
        colours |= dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6});", dark))

    def ratio(first: str, second: str) -> float:
        low, high = sorted((_luminance(colours[first]), _luminance(colours[second])))
        return (high + 0.05) / (low + 0.05)

    assert {pair: ratio(*pair) for pair in PAIRS if ratio(*pair) < 4.5} == {}
    assert ratio("line-strong", "paper") >= 3
