"""Fernet (AES-128-CBC with HMAC-SHA-256) under keys derived from Django's SECRET_KEY and its fallbacks."""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from ingestion.seams.seal import SealBroken

PURPOSE = b"docmemo.seal.1"


class FernetSeal:
    """Seals under the newest key and opens under any: SECRET_KEY can be changed while SECRET_KEY_FALLBACKS holds the old one."""

    def __init__(self) -> None:
        self._keys = MultiFernet([Fernet(_derived(key)) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])

    def close(self, secret: str) -> bytes:
        return self._keys.encrypt(secret.encode())

    def open(self, sealed: bytes) -> str:
        try:
            return self._keys.decrypt(bytes(sealed)).decode()
        except InvalidToken:
            raise SealBroken("sealed under another key, or damaged") from None


def _derived(secret: str) -> bytes:
    return base64.urlsafe_b64encode(HKDF(SHA256(), 32, salt=None, info=PURPOSE).derive(secret.encode()))
