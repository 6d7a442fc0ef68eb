"""A model behind an OpenAI-compatible server (vLLM, llama.cpp and others): strict JSON schema, pictures as data URLs, every bound kept.

Nothing is sent but to the configured address: no redirects, no proxy of the environment, no links inside a request. What comes
back is read up to a bound of bytes and seconds, must be complete (finish_reason `stop`) and must meet the schema; else it is a typed
failure. A connection that cannot be made is tried once more; nothing else is tried again here.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Mapping
from typing import Any

import httpx

from ingestion.seams.language_model import (
    ImagePart,
    ModelReply,
    ModelRequest,
    ModelTimeout,
    ModelUnavailable,
    ReplyMalformed,
    ReplyRefused,
    ReplyTruncated,
    TextPart,
)
from ingestion.seams.language_model.schema_check import broken_rule

MAX_REPLY_BYTES = 4 * 1024 * 1024
CONNECT_SECONDS = 5.0
_IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})


class OpenAICompatible:
    """`base_url` ends with the version, such as http://127.0.0.1:8001/v1. Without a URL or a model name it is not configured."""

    def __init__(
        self, base_url: str = "", model: str = "", api_key: str = "", *, max_reply_bytes: int = MAX_REPLY_BYTES,
        transport: httpx.BaseTransport | None = None,
    ) -> None:  # fmt: skip
        self._base_url = base_url.rstrip("/")
        self._model = model
        self._max_reply_bytes = max_reply_bytes
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(headers=headers, trust_env=False, follow_redirects=False, transport=transport)

    @property
    def configured(self) -> bool:
        return bool(self._base_url and self._model)

    def models(self) -> list[str]:
        body = self._call("GET", "/models", None, 10.0)
        found = body.get("data")
        if not isinstance(found, list):
            raise ModelUnavailable("the server's list of models is not one")
        return [str(entry["id"]) for entry in found if isinstance(entry, Mapping) and "id" in entry]

    def complete(self, request: ModelRequest) -> ModelReply:
        body = self._call("POST", "/chat/completions", self._payload(request), request.seconds)
        choice, message = _first_choice(body)
        finish = str(choice.get("finish_reason") or "")
        if message.get("refusal") or finish == "content_filter":
            raise ReplyRefused("the model refused")
        if finish == "length":
            raise ReplyTruncated(f"the reply was cut at {request.max_tokens} tokens")
        if finish != "stop":
            raise ReplyMalformed(f"finish_reason is {finish[:40]!r}")
        usage = body.get("usage") if isinstance(body.get("usage"), Mapping) else {}
        return ModelReply(
            content=_content(message.get("content"), request.schema),
            model=str(body.get("model") or self._model),
            input_tokens=_count(usage.get("prompt_tokens")),
            output_tokens=_count(usage.get("completion_tokens")),
            finish_reason=finish,
        )

    def _payload(self, request: ModelRequest) -> dict[str, Any]:
        schema = {"name": request.schema_name, "strict": True, "schema": dict(request.schema)}
        return {
            "model": self._model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": _user_content(request)},
            ],
            "response_format": {"type": "json_schema", "json_schema": schema},
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
        }

    def _call(self, method: str, path: str, payload: Mapping[str, Any] | None, seconds: float) -> Mapping[str, Any]:
        """The reply's JSON object. `seconds` bounds the whole exchange; a server that drips bytes does not stretch it."""
        if not self._base_url or (payload is not None and not self._model):
            raise ModelUnavailable("no model server is configured")
        try:
            try:
                raw = self._exchange(method, path, payload, seconds)
            except httpx.ConnectError:
                raw = self._exchange(method, path, payload, seconds)
        except httpx.TimeoutException as error:
            raise ModelTimeout(f"no reply within {seconds:g} seconds") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ModelUnavailable(type(error).__name__) from error
        try:
            body = json.loads(raw)
        except ValueError as error:
            raise ReplyMalformed("the server's reply is not JSON") from error
        if not isinstance(body, Mapping):
            raise ReplyMalformed("the server's reply is not an object")
        return body

    def _exchange(self, method: str, path: str, payload: Mapping[str, Any] | None, seconds: float) -> bytes:
        deadline = time.monotonic() + seconds
        timeout = httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
        with self._client.stream(method, self._base_url + path, json=payload, timeout=timeout) as response:
            if response.status_code != 200:
                raise ModelUnavailable(f"the server answered {response.status_code}")
            received = bytearray()
            for chunk in response.iter_bytes():
                received += chunk
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("the reply took too long")
                if len(received) > self._max_reply_bytes:
                    raise ReplyMalformed(f"the reply is longer than {self._max_reply_bytes} bytes")
            return bytes(received)


def _user_content(request: ModelRequest) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for part in request.parts:
        if isinstance(part, TextPart):
            content.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart):
            if part.media_type not in _IMAGE_TYPES:
                raise ValueError(f"pictures of type {part.media_type!r} are not sent")
            data = base64.b64encode(part.data).decode("ascii")
            content.append({"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{data}"}})
    return content


def _first_choice(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise ReplyMalformed("the reply holds no message")
    return choice, message


def _content(text: Any, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message as JSON that meets the schema. A model's thinking before it, in its own tags, is left out; nothing else is."""
    if not isinstance(text, str):
        raise ReplyMalformed("the message has no text")
    try:
        content = json.loads(re.sub(r"\A\s*<think>.*?</think>", "", text, flags=re.DOTALL))
    except ValueError as error:
        raise ReplyMalformed("the message is not JSON") from error
    if not isinstance(content, Mapping):
        raise ReplyMalformed("the message is not an object")
    rule = broken_rule(content, schema)
    if rule:
        raise ReplyMalformed(f"the message breaks the schema: {rule}")
    return content


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
