"""The fake reader: gives prepared results in order, or fails as prepared, and keeps what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from qa.seams.reader import ReaderFailure, ReadRequest, ReadResult, ReadStatus

Step = ReadResult | ReaderFailure | Callable[[ReadRequest], ReadResult]


class ScriptedReader:
    """A step may be a result, a failure, or a function of the request. After the last step it needs more, for ever."""

    def __init__(
        self, steps: Iterable[Step] = (), *, pictures: bool = False, verbatim: bool = False, vocabulary: str = ""
    ) -> None:
        self._steps = list(steps)
        self.looks_at_pictures = pictures
        self.verbatim = verbatim
        self._vocabulary = vocabulary
        self.requests: list[ReadRequest] = []

    @property
    def versions(self) -> Mapping[str, str]:
        return {"reader": "scripted/1"}

    def vocabulary(self, question: str) -> str:
        return self._vocabulary

    def read(self, request: ReadRequest) -> ReadResult:
        self.requests.append(request)
        step = self._steps.pop(0) if self._steps else ReadResult(ReadStatus.NEED_MORE)
        if isinstance(step, ReaderFailure):
            raise step
        return step(request) if callable(step) else step
