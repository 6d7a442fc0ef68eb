"""What a setting is: its name, its kind, its default and its meaning; and how the text of the environment becomes its value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

REPOSITORY = Path(__file__).resolve().parents[2]

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True)
class Setting:
    """One setting of the environment. `kind` is text, flag, number, words, folder, choice or amounts (name=number)."""

    name: str
    kind: str
    default: object
    meaning: str
    secret: bool = False
    choices: tuple[str, ...] = ()

    def parse(self, raw: str) -> object:
        """The typed value of `raw`; raises ImproperlyConfigured with the setting's name."""
        return _PARSERS[self.kind](self, raw.strip())


def _text(_setting: Setting, raw: str) -> str:
    return raw


def _flag(setting: Setting, raw: str) -> bool:
    word = raw.lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ImproperlyConfigured(f"{setting.name} must be true or false, not {raw!r}.")


def _number(setting: Setting, raw: str) -> int:
    if not raw.isascii() or not raw.isdigit():
        raise ImproperlyConfigured(f"{setting.name} must be a whole number of zero or more, not {raw!r}.")
    return int(raw)


def _words(_setting: Setting, raw: str) -> list[str]:
    return [word.strip() for word in raw.split(",") if word.strip()]


def _folder(setting: Setting, raw: str) -> Path:
    path = Path(raw).expanduser()
    if not path.is_absolute():
        raise ImproperlyConfigured(f"{setting.name} must be an absolute path, not {raw!r}.")
    return path


def _choice(setting: Setting, raw: str) -> str:
    if raw not in setting.choices:
        allowed = ", ".join(setting.choices)
        raise ImproperlyConfigured(f"{setting.name} must be one of {allowed}, not {raw!r}.")
    return raw


def _amounts(setting: Setting, raw: str) -> dict[str, int]:
    """Numbers by name; names that are left out keep their default."""
    assert isinstance(setting.default, dict)
    found = dict(setting.default)
    for part in _words(setting, raw):
        name, _, amount = (piece.strip() for piece in part.partition("="))
        if name not in found or not amount.isascii() or not amount.isdigit() or int(amount) == 0:
            known = ", ".join(found)
            raise ImproperlyConfigured(f"{setting.name} must be name=number (above zero) for names of {known}, not {part!r}.")
        found[name] = int(amount)
    return found


_PARSERS = {
    "amounts": _amounts,
    "text": _text,
    "flag": _flag,
    "number": _number,
    "words": _words,
    "folder": _folder,
    "choice": _choice,
}
