"""The fake model: gives prepared replies in order, or fails as prepared, and keeps what it was asked. Holds replies to the schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ingestion.seams.language_model import ModelFailure, ModelReply, ModelRequest, ModelUnavailable, ReplyMalformed
from ingestion.seams.language_model.schema_check import broken_rule

Step = Mapping[str, Any] | ModelFailure | Callable[[ModelRequest], Mapping[str, Any]]


class ScriptedModel:
    """After its last step it is unavailable."""

    def __init__(self, steps: Iterable[Step] = (), model: str = "scripted") -> None:
        self._steps = list(steps)
        self._model = model
        self.requests: list[ModelRequest] = []

    @property
    def configured(self) -> bool:
        return True

    def models(self) -> list[str]:
        return [self._model]

    def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        if not self._steps:
            raise ModelUnavailable("the script is over")
        step = self._steps.pop(0)
        if isinstance(step, ModelFailure):
            raise step
        content = step(request) if callable(step) else step
        rule = broken_rule(content, request.schema)
        if rule:
            raise ReplyMalformed(f"the message breaks the schema: {rule}")
        return ModelReply(content, self._model, input_tokens=100, output_tokens=20)
