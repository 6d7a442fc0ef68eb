"""Every route, as each person: who gets in, and that for all others the page is the one of things that do not exist."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from ingestion.domain.ids import new_id
from ingestion.models import OutboxEvent
from tests.qa.views.scene import Scene

EVERYBODY = ("admin", "owner", "alice", "bob", "auditor", "mallory", "outsider")
MANAGERS = ("admin", "owner")


@dataclass(frozen=True)
class Door:
    """`path` makes the address with the ids of the scene, `absent` the same with ids that nothing has.

    `inside` get `opens`; anonymous people are sent to sign in; all others get 404.
    """

    path: Callable[[Scene], str]
    inside: tuple[str, ...] = EVERYBODY
    method: str = "get"
    opens: int = 200
    anonymous: int = 302
    data: dict[str, str] | None = None

    def call(self, scene: Scene, who: str, path: str | None = None) -> HttpResponse:
        return getattr(scene.client(who), self.method)(path or self.path(scene), self.data or {})


def _event(scene: Scene) -> str:
    return f"/console/submissions/{OutboxEvent.objects.filter(topic='docmemo.documents').first().id}/"


ROUTES: dict[str, Door] = {
    "healthz": Door(lambda s: "/healthz", anonymous=200),
    # this machine asks; what others get is asked in tests/site/test_health.py
    "readyz": Door(lambda s: "/readyz", anonymous=200),
    "metrics": Door(lambda s: "/metrics", anonymous=200),
    "signin/": Door(lambda s: "/signin/", opens=302, anonymous=200),
    "signout/": Door(lambda s: "/signout/", method="post", opens=302),
    # the portal
    "": Door(lambda s: "/"),
    "documents": Door(lambda s: "/documents?corpus=library"),
    "questions/": Door(lambda s: "/questions/"),
    "runs/<uuid:run_id>/": Door(lambda s: f"/runs/{s.answered.id}/", inside=("alice",)),
    "runs/<uuid:run_id>/citations/<uuid:citation_id>/": Door(
        lambda s: f"/runs/{s.answered.id}/citations/{s.citation.id}/", inside=("alice",)
    ),
    "pages/<uuid:page_id>/image": Door(lambda s: f"/pages/{s.page.id}/image", inside=("alice",)),
    # the console
    "console/": Door(lambda s: "/console/", inside=(*MANAGERS, "outsider")),
    "console/corpora/new/": Door(lambda s: "/console/corpora/new/", inside=("admin", "outsider")),
    "console/corpora/<uuid:corpus_id>/": Door(lambda s: f"/console/corpora/{s.corpus.id}/", inside=MANAGERS),
    "console/corpora/<uuid:corpus_id>/documents": Door(lambda s: f"/console/corpora/{s.corpus.id}/documents", inside=MANAGERS),
    "console/corpora/<uuid:corpus_id>/access": Door(
        lambda s: f"/console/corpora/{s.corpus.id}/access", inside=MANAGERS, method="post", data={"allow": "staff"}
    ),
    "console/corpora/<uuid:corpus_id>/upload": Door(
        lambda s: f"/console/corpora/{s.corpus.id}/upload", inside=MANAGERS, method="post", opens=422
    ),
    "console/submissions/<uuid:event_id>/": Door(_event, inside=MANAGERS),
    "console/documents/<uuid:document_id>/": Door(lambda s: f"/console/documents/{s.document.id}/", inside=MANAGERS),
    "console/documents/<uuid:document_id>/access": Door(
        lambda s: f"/console/documents/{s.document.id}/access", inside=MANAGERS, method="post", data={"narrow": "no"}
    ),
    "console/documents/<uuid:document_id>/explain": Door(
        lambda s: f"/console/documents/{s.document.id}/explain?person=alice", inside=MANAGERS
    ),
    "console/documents/<uuid:document_id>/withdraw": Door(
        lambda s: f"/console/documents/{s.document.id}/withdraw", inside=MANAGERS, method="post", opens=302
    ),
    "console/jobs/<uuid:job_id>/": Door(lambda s: f"/console/jobs/{s.job.id}/", inside=MANAGERS),
    "console/jobs/": Door(lambda s: "/console/jobs/", inside=(*MANAGERS, "outsider")),
    "console/jobs/all/<str:action>": Door(
        lambda s: "/console/jobs/all/pause", inside=(*MANAGERS, "outsider"), method="post", opens=302
    ),
    "console/jobs/<uuid:job_id>/<str:action>": Door(
        lambda s: f"/console/jobs/{s.job.id}/cancel", inside=MANAGERS, method="post", opens=302
    ),
    "console/sources/": Door(lambda s: "/console/sources/", inside=(*MANAGERS, "outsider")),
    "console/sources/new/": Door(lambda s: "/console/sources/new/", inside=(*MANAGERS, "outsider")),
    "console/sources/<uuid:source_id>/": Door(lambda s: f"/console/sources/{s.source.id}/", inside=MANAGERS),
    "console/sources/<uuid:source_id>/tokens": Door(
        lambda s: f"/console/sources/{s.source.id}/tokens", inside=MANAGERS, method="post", data={"label": "a"}
    ),
    "console/sources/<uuid:source_id>/<str:action>": Door(
        lambda s: f"/console/sources/{s.source.id}/pause", inside=MANAGERS, method="post", opens=302
    ),
    "recall/<uuid:document_id>/": Door(lambda s: f"/recall/{s.document.id}/", inside=(*MANAGERS, "auditor")),
    # the audit
    "audit/": Door(lambda s: "/audit/", inside=("auditor", "outsider")),
    "audit/chain/": Door(lambda s: "/audit/chain/", inside=("auditor", "outsider")),
    "audit/runs/<uuid:run_id>/": Door(lambda s: f"/audit/runs/{s.answered.id}/", inside=("auditor",)),
}

# For programs with a token: a session opens none of them. With tokens they are tried in tests/ingestion/views/test_api.py.
API = {
    "api/v1/documents",
    "api/v1/submissions/<uuid:event_id>",
    "api/v1/uploads",
    "api/v1/uploads/<uuid:upload_id>",
    "api/v1/uploads/<uuid:upload_id>/complete",
}


def _routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, prefix + str(pattern.pattern))
        else:
            yield prefix + str(pattern.pattern)


def _absent(door: Door, scene: Scene) -> str | None:
    """The same address with ids that nothing has; None where the address has no id."""
    path = door.path(scene)
    parts = [str(new_id()) if part.count("-") == 4 else part for part in path.split("/")]
    return "/".join(parts) if "/".join(parts) != path else None


def test_no_route_is_missing_in_the_table() -> None:
    found = list(_routes(get_resolver().url_patterns))
    assert sorted(found) == sorted([*ROUTES, *API])
    assert len(found) == len(set(found))


def test_a_session_opens_no_door_for_programs(scene: Scene) -> None:
    for route in API:
        path = "/" + re.sub(r"<[^>]+>", str(new_id()), route)
        for who in ("anonymous", *EVERYBODY):
            for method in ("get", "post", "put", "patch", "delete"):
                answer = getattr(scene.client(who), method)(path)
                assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="docmemo"'), (route, who, method)


def test_each_person_at_each_route(scene: Scene) -> None:
    """One test, since making the scene costs more than all requests; what went wrong is collected."""
    nothing = scene.client("bob").get("/no/such/page/").content
    wrong = []
    for route, door in ROUTES.items():
        absent = _absent(door, scene)
        answer = door.call(scene, "anonymous")
        if answer.status_code != door.anonymous:
            wrong.append((route, "anonymous", answer.status_code))
        if door.anonymous == 302 and door.path(scene) != "/signout/" and not answer["Location"].startswith("/signin/?next="):
            wrong.append((route, "anonymous", answer["Location"]))
        for who in EVERYBODY:
            if absent and (lost := door.call(scene, who, absent)) and (lost.status_code, lost.content) != (404, nothing):
                wrong.append((route, who, "absent", lost.status_code))
            if who in door.inside:
                continue
            answer = door.call(scene, who)
            if (answer.status_code, answer.content) != (404, nothing):
                wrong.append((route, who, answer.status_code))
    for route, door in ROUTES.items():  # those who may: last, since some of it changes the scene
        for who in door.inside:
            answer = door.call(scene, who)
            if answer.status_code != door.opens:
                wrong.append((route, who, answer.status_code, answer.get("Location")))
    assert wrong == []


def test_headers_of_a_refusal_and_of_absence_are_the_same(scene: Scene) -> None:
    client = scene.client("bob")
    forbidden, absent = client.get(f"/pages/{scene.page.id}/image"), client.get(f"/pages/{new_id()}/image")
    assert dict(forbidden.headers) == dict(absent.headers)


def test_other_methods_change_nothing(scene: Scene) -> None:
    client = scene.client("admin")
    for method in ("put", "delete", "patch"):
        for route, door in ROUTES.items():
            assert getattr(client, method)(door.path(scene)).status_code in (404, 405), (method, route)


def test_changes_want_a_post_with_a_token(scene: Scene) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(scene.cast.admin)
    for route, door in ROUTES.items():
        if door.method == "post":
            assert client.post(door.path(scene), door.data or {}).status_code == 403, route
            assert client.get(door.path(scene)).status_code == 405, route
    assert client.post("/", {"corpus": "library", "question": "x"}).status_code == 403


def test_odd_values_in_an_address_break_nothing(scene: Scene) -> None:
    odd = ("%00", "%00library", "x" * 5000, "-1", "999999999999", "%F0%9F%98%80", "%ff%fe", "'%3B--", "{{7*7}}")
    names = ("corpus", "document", "question", "page", "q", "state", "person", "verdict", "seen", "next", "code")
    for route, door in ROUTES.items():
        if door.method != "get" or route in ("signin/", "readyz"):  # the latter reads no parameter, and waits for Kafka here
            continue
        client = scene.client(door.inside[0])
        for value in odd:
            query = "&".join(f"{name}={value}" for name in names)
            path = door.path(scene).split("?")[0]
            assert client.get(f"{path}?{query}").status_code == 200, (route, value)
    alice = scene.client("alice")
    for value in ("\x00", "library\x00", "x" * 5000):
        data = {"corpus": value, "document": value, "question": f"what {value}"[:900]}
        assert alice.post("/", data).status_code == 302, value


def test_an_outsiders_lists_hold_nothing_of_this_organisation(scene: Scene) -> None:
    client = scene.client("outsider")
    seen = "".join(client.get(path).content.decode() for path in ("/", "/console/", "/audit/", "/audit/chain/", "/questions/"))
    for told in ("library", "Price list", "alice", "What does the pump", str(scene.document.id), str(scene.answered.id)):
        assert told not in seen, told
