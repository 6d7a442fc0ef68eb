"""A bucket of an S3-compatible object store, through django-storages: objects below a prefix are documents, keys the external ids.

Options: `bucket`, `prefix` (a folder in the bucket, default all of it), `endpoint_url` and `region` (default: those of AWS),
`addressing_style` (`path` for most stores of one's own), `patterns` (of file names, default `*.pdf`), `max_objects`. Secrets:
`access_key`, `secret_key` and `session_token`, or none of them, where the machine has a role of its own (boto3's chain).

The entity tag is the fingerprint. Keys that django-storages would write in another way (`a//b`, `a/../b`) are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import Any, BinaryIO, cast

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage
from storages.utils import clean_name

from ingestion.seams.connector import (
    MAX_EXTERNAL_ID,
    Item,
    ItemChanged,
    ItemGone,
    Listing,
    Misconfigured,
    Unreachable,
    only_known,
    option,
)
from ingestion.seams.connector.folder import patterns_of

KNOWN = frozenset({"bucket", "prefix", "endpoint_url", "region", "addressing_style", "patterns", "max_objects"})
SECRETS = frozenset({"access_key", "secret_key", "session_token"})
IN_MEMORY = 8 * 1024 * 1024  # a larger object is kept in a temporary file while it is read
CONNECT_SECONDS, READ_SECONDS, ATTEMPTS = 10, 60, 3


class ObjectStoreConnector:
    """Objects of a bucket. An object written anew under its key is a change of that document."""

    def __init__(self, options: dict[str, Any], secrets: dict[str, str]) -> None:
        only_known(options, KNOWN)
        if set(secrets) - SECRETS:
            raise Misconfigured(f"Unknown secrets: {', '.join(sorted(set(secrets) - SECRETS))}.")
        if ("access_key" in secrets) != ("secret_key" in secrets):
            raise Misconfigured("access_key and secret_key are given together or not at all.")
        self.bucket = option(options, "bucket", str)
        folder = option(options, "prefix", str, "").strip("/")
        self.prefix = f"{folder}/" if folder else ""
        self.patterns = option(options, "patterns", patterns_of, ["*.pdf"])
        self.max_objects = option(options, "max_objects", int, 100_000)
        style = option(options, "addressing_style", str, "auto")
        if style not in ("auto", "path", "virtual"):
            raise Misconfigured("The option addressing_style is one of auto, path, virtual.")
        self.storage = S3Storage(
            bucket_name=self.bucket,
            location="",
            endpoint_url=option(options, "endpoint_url", str, "") or None,
            region_name=option(options, "region", str, "") or None,
            access_key=secrets.get("access_key"),
            secret_key=secrets.get("secret_key"),
            security_token=secrets.get("session_token"),
            max_memory_size=IN_MEMORY,
            client_config=Config(
                connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, s3={"addressing_style": style},
                retries={"max_attempts": ATTEMPTS, "mode": "standard"},
            ),
        )  # fmt: skip

    def listing(self) -> Listing:
        items: list[Item] = []
        try:
            for page in self._bucket().objects.filter(Prefix=self.prefix).pages():
                for found in page:
                    item = self._item(found)
                    if item is None:
                        continue
                    if len(items) >= self.max_objects:
                        return Listing(tuple(items), complete=False, reason=f"there are more than {self.max_objects} objects")
                    items.append(item)
        except (ClientError, BotoCoreError, ValueError) as error:
            if not items:
                raise Unreachable(f"The bucket {self.bucket} cannot be listed: {_told(error)}.") from None
            return Listing(tuple(items), complete=False, reason=f"the listing broke off: {_told(error)}")
        return Listing(tuple(items))

    def _bucket(self) -> Any:
        return self.storage.bucket

    def _item(self, found: Any) -> Item | None:
        """The object as an item; None for what is no document of ours."""
        place = found.key[len(self.prefix) :]
        name = place.rsplit("/", 1)[-1]
        usable = bool(name) and found.key.isprintable() and len(place) <= MAX_EXTERNAL_ID and clean_name(found.key) == found.key
        if not usable or not any(fnmatch(name.lower(), pattern) for pattern in self.patterns):
            return None
        return Item(place, found.e_tag.strip('"'), found.size, name)

    @contextmanager
    def open(self, item: Item) -> Iterator[BinaryIO]:
        try:
            with self.storage.open(self.prefix + item.external_id, "rb") as file:
                self._check(item, file.obj.e_tag)
                file.open()  # fetches the bytes
                file.obj.reload()
                self._check(item, file.obj.e_tag)
                yield cast(BinaryIO, file)
        except FileNotFoundError:
            raise ItemGone(f"{item.external_id} is not there any more.") from None
        except ClientError as error:
            if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404:
                raise ItemGone(f"{item.external_id} is not there any more.") from None
            raise Unreachable(f"{item.external_id} cannot be read: {_told(error)}.") from None
        except BotoCoreError as error:
            raise Unreachable(f"{item.external_id} cannot be read: {_told(error)}.") from None

    def _check(self, item: Item, tag: str) -> None:
        if tag.strip('"') != item.fingerprint:
            raise ItemChanged(f"{item.external_id} changed after it was listed.")


def _told(error: Exception) -> str:
    """What is safe to tell: the store's code or the kind of failure, never a request with its headers."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "unknown error"))
    return type(error).__name__
