"""The contract of the seal."""

from __future__ import annotations

import pytest
from django.conf import LazySettings
from hypothesis import given
from hypothesis import strategies as st

from ingestion.seams.seal import Seal, SealBroken
from ingestion.seams.seal.fernet import FernetSeal

TEXTS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=500)


@pytest.fixture(scope="module")
def seal() -> Seal:
    return FernetSeal()


@given(secret=TEXTS)
def test_what_was_sealed_is_opened_again(seal: Seal, secret: str) -> None:
    assert seal.open(seal.close(secret)) == secret


def test_the_same_secret_looks_different_each_time_and_shows_nothing(seal: Seal) -> None:
    first, second = seal.close("open sesame"), seal.close("open sesame")
    assert first != second and b"sesame" not in first


@pytest.mark.parametrize("change", [lambda b: b[:-1], lambda b: b"", lambda b: b[:20] + b"A" + b[21:], lambda b: b"plain text"])
def test_what_was_changed_is_not_opened(seal: Seal, change) -> None:
    with pytest.raises(SealBroken):
        seal.open(change(seal.close("open sesame")))


def test_another_key_does_not_open_it(seal: Seal, settings: LazySettings) -> None:
    sealed = seal.close("open sesame")
    settings.SECRET_KEY, old = "another key, long enough to be one", settings.SECRET_KEY
    with pytest.raises(SealBroken):
        FernetSeal().open(sealed)
    settings.SECRET_KEY_FALLBACKS = [old]
    assert FernetSeal().open(sealed) == "open sesame"
