"""The embedded default: a private PostgreSQL with pgvector, a Valkey and a Kafka-protocol broker.

`ensure_up()` is what a command calls before it needs them. Nothing here is used where the addresses of
services of your own are configured.
"""

from docmemo_site.embedded.control import ensure_up

__all__ = ["ensure_up"]
