"""A (vision-)language model that answers in strict JSON. Shared by `describe` and by qa's reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class ModelFailure(Exception):
    """The model gave no usable reply; never a vote. `code` is one of the subclasses' codes."""

    code = "model_failure"


class ModelUnavailable(ModelFailure):
    """Not configured, not reachable, or answered with a server error."""

    code = "model_unavailable"


class ModelTimeout(ModelUnavailable):
    code = "model_timeout"


class ReplyTruncated(ModelFailure):
    """finish_reason was `length`."""

    code = "reply_truncated"


class ReplyMalformed(ModelFailure):
    """Not JSON, or JSON that breaks the schema."""

    code = "reply_malformed"


class ReplyRefused(ModelFailure):
    code = "reply_refused"


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """Bytes, never a link; `media_type` such as image/jpeg."""

    data: bytes
    media_type: str = "image/jpeg"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """`parts` go in this order: pictures and context first, the question last (prefix caching)."""

    system: str
    parts: Sequence[TextPart | ImagePart]
    schema_name: str
    schema: Mapping[str, Any]
    max_tokens: int = 2048
    temperature: float = 0.1
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class ModelReply:
    """`content` is the parsed JSON that met the schema."""

    content: Mapping[str, Any]
    model: str
    input_tokens: int
    output_tokens: int
    finish_reason: str = "stop"
    extra: Mapping[str, Any] = field(default_factory=dict)


class LanguageModel(Protocol):
    @property
    def configured(self) -> bool: ...

    def models(self) -> list[str]:
        """What the server serves. Raises `ModelUnavailable`."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raises a `ModelFailure`; a reply that breaks the schema or was cut is a failure, not a result."""
