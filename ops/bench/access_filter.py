"""What row-level security costs the search, and that the filtered search stays exact: ratios, measured in one run.

Makes a synthetic library in a private PostgreSQL (thrown away afterwards): pages with one vector each, documents of 200 pages, and for
each share of permitted pages three places: spread at random, nearest to the questions, farthest from them. For each it times

- `product, row security on`: the product's own SQL as the reader, with BEGIN, the claims and COMMIT (what a question pays);
- `product, row security off`: the same SQL as the owner of the tables, to whom no policy applies;
- `bare`: the scan alone, `access_class_id = any(...) order by (vector <#> q) + 0.0 limit 10`, with the visible classes looked up before.

Run it from the repository: `python ops/bench/access_filter.py --pages 20000`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SHARES = (0.5, 0.01, 0.001, 0.0001)
PLACES = ("spread", "near", "far")
DOCUMENT_PAGES = 200
TOP = 10


@dataclass(frozen=True)
class Library:
    """What was made: ids in page order, vectors, and for each case the tag that opens it and the pages that it opens."""

    organisation: UUID
    space: UUID
    builds: tuple[UUID, ...]
    pages: tuple[UUID, ...]
    vectors: np.ndarray
    queries: np.ndarray
    cases: dict[tuple[float, str], tuple[UUID, np.ndarray]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000, help="default 20000; 200000 takes some minutes and 2 GB")
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--classes", type=int, default=20, help="each combination of lists is split into so many classes (default 20)")
    parser.add_argument("--words", type=int, default=20, help="postings of a page (default 20)")
    parser.add_argument("--queries", type=int, default=10, help="queries of each case (default 10), each asked --repeat times")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="docmemo-bench-") as home:
        os.environ["DOCMEMO_HOME"] = home
        os.environ["DJANGO_SETTINGS_MODULE"] = "docmemo_site.settings.base"
        sys.path.insert(0, str(ROOT))
        value = _in_private_database(Path(home), options)
    if options.json:
        print(json.dumps(value, indent=1))
    else:
        _print_table(value)
    return 0 if all(case["recall"] >= 0.999 and case["rows_equal"] for case in value["cases"]) else 1


def _in_private_database(home: Path, options: argparse.Namespace) -> dict[str, Any]:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connections

    from docmemo_site.embedded import services
    from docmemo_site.embedded.control import down
    from docmemo_site.embedded.home import Home

    started = services.start(Home(home), ["postgres"])
    try:
        for alias in connections:
            connections.databases[alias]["PORT"] = str(started.postgres_port)
        call_command("migrate", database="migrator", verbosity=0, interactive=False)
        seconds = time.perf_counter()
        library = library_make(options)
        made = time.perf_counter() - seconds
        size = {"pages": options.pages, "dimensions": options.dimensions, "made_seconds": round(made, 1)}
        return {**size, "cases": _measure(library, options)}
    finally:
        connections.close_all()
        down(Home(home))


# --- the library ---------------------------------------------------------------------------------------


def library_make(options: argparse.Namespace) -> Library:
    """Rows for so many pages, drawn from the seed."""
    from ingestion.domain.ids import new_id
    from ingestion.models import EmbeddingSpace, Organisation

    draw = np.random.default_rng(options.seed)
    count = options.pages
    centres = draw.standard_normal((100, options.dimensions))
    vectors = centres[draw.integers(0, 100, count)] + draw.standard_normal((count, options.dimensions))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    queries = centres[0] + draw.standard_normal((options.queries, options.dimensions)) * 0.7
    queries = (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float16)
    nearness = np.argsort(-(vectors.astype(np.float32) @ queries.astype(np.float32).mean(axis=0)))
    cases = {}
    for share in SHARES:
        size = max(round(count * share), 1)
        chosen = {"spread": draw.permutation(count)[:size], "near": nearness[:size], "far": nearness[-size:]}
        for place in PLACES:
            cases[share, place] = (new_id(), np.sort(chosen[place]))
    organisation = Organisation.objects.using("migrator").create(slug="bench", name="Bench")
    space = EmbeddingSpace.objects.using("migrator").create(name="bench", dimensions=options.dimensions, fingerprint="bench")
    builds = _builds_make(organisation, count)
    pages = tuple(new_id() for _ in range(count))
    classes = _classes_make(organisation, cases, count, options.classes)
    _rows_copy(pages, builds, classes, vectors, space.id, options, draw)
    return Library(organisation.id, space.id, tuple(build for _, build in builds), pages, vectors, queries, cases)


def _builds_make(organisation: Any, count: int) -> list[tuple[UUID, UUID]]:
    """(document, build) for each document."""
    from ingestion.models import Build, Corpus, Document, DocumentVersion

    corpus = Corpus.objects.using("migrator").create(organisation=organisation, slug="bench", name="Bench")
    numbers = range(-(-count // DOCUMENT_PAGES))
    documents = [Document(organisation=organisation, corpus=corpus, external_id=f"{n}.pdf") for n in numbers]
    versions = [DocumentVersion(document=d, number=1, revision=1, content_sha256="0" * 64, bytes=1) for d in documents]
    builds = [Build(document=v.document, version=v, fingerprint="bench", language="english") for v in versions]
    for rows in (documents, versions, builds):
        type(rows[0]).objects.using("migrator").bulk_create(rows, batch_size=2000)
    return [(build.document_id, build.id) for build in builds]


def _classes_make(organisation: Any, cases: dict, count: int, split: int) -> list[UUID]:
    """The class of each page: one for each combination of the cases that open it, split into `split` of equal lists."""
    from ingestion.domain.access import AccessClause
    from ingestion.domain.ids import new_id
    from ingestion.models import AccessClass

    opened: list[list[UUID]] = [[] for _ in range(count)]
    for tag, members in cases.values():
        for member in members:
            opened[member].append(tag)
    fillers = [new_id() for _ in range(split)]
    known: dict[tuple, UUID] = {}
    rows = []
    for number, tags in enumerate(opened):
        key = (*tags, fillers[number // DOCUMENT_PAGES % split])
        if key not in known:
            allow = AccessClause(frozenset(key))
            row = AccessClass(organisation=organisation, digest=allow.digest(), corpus_allow=sorted(key), deny=[])
            rows.append(row)
            known[key] = row.id
        opened[number] = known[key]  # type: ignore[call-overload]
    AccessClass.objects.using("migrator").bulk_create(rows, batch_size=2000)
    return opened  # type: ignore[return-value]


def _rows_copy(pages: Sequence[UUID], builds: list, classes: list[UUID], vectors: np.ndarray, space: UUID, options: Any, draw: Any) -> None:
    from django.db import connections

    from ingestion.domain.ids import new_id

    homes = [builds[number // DOCUMENT_PAGES] for number in range(len(pages))]
    ids = [new_id() for _ in pages]
    page_rows = (
        (p, b, d, n % DOCUMENT_PAGES + 1, "", 1, 1, 0, c, "none", False, "", "", 200, "body", "[]")
        for n, (p, (d, b), c) in enumerate(zip(pages, homes, classes, strict=True))
    )
    lexemes = np.minimum(draw.zipf(1.3, (len(pages), options.words)), 5000)
    copy = _copier(connections["migrator"])
    copy("page", "id build_id document_id number label width height rotation access_class_id text_source blank image_key image_sha256 "
         "words role warnings", page_rows)  # fmt: skip
    places = list(zip(ids, pages, homes, classes, strict=True))
    copy("passage", "id page_id build_id access_class_id ordinal start \"end\"", ((i, p, b, c, 0, 0, 1) for i, p, (_, b), c in places))
    copy("passagevector", "space_id passage_id page_id build_id access_class_id vector",
         ((space, i, p, b, c, "[" + ",".join(map(str, vectors[n])) + "]") for n, (i, p, (_, b), c) in enumerate(places)))  # fmt: skip
    copy("posting", "page_id field lexeme build_id access_class_id frequency",
         ((p, "b", f"w{w}", b, c, 1) for n, (_, p, (_, b), c) in enumerate(places) for w in set(lexemes[n])))  # fmt: skip
    with connections["migrator"].cursor() as cursor:
        cursor.execute(
            "insert into ingestion_buildaccesscount (id, build_id, access_class_id, pages, words)"
            " select gen_random_uuid(), build_id, access_class_id, count(*), sum(words) from ingestion_page group by 2, 3"
        )
        for table in ("page", "passagevector", "posting", "buildaccesscount", "accessclass", "build"):
            cursor.execute(f"vacuum analyze ingestion_{table}")


def _copier(connection: Any) -> Callable[[str, str, Any], None]:
    def copy(table: str, columns: str, rows: Any) -> None:
        with connection.cursor() as cursor, cursor.cursor.copy(
            f"copy ingestion_{table} ({', '.join(columns.split())}) from stdin"
        ) as out:  # fmt: skip
            for row in rows:
                out.write_row(row)

    return copy


# --- the measurement -----------------------------------------------------------------------------------


BARE_SQL = """
select page_id from ingestion_passagevector where space_id = %(space)s and build_id = any(%(builds)s)
   and access_class_id = any(%(classes)s) order by (vector <#> %(vector)s::halfvec) + 0.0 limit %(limit)s
"""


def _measure(library: Library, options: argparse.Namespace) -> list[dict[str, Any]]:
    from django.db import connections
    from pgvector import HalfVector

    from ingestion.domain.evidence import Asker
    from ingestion.selectors.evidence import rows, snapshot
    from ingestion.selectors.search import BM25_SQL, DENSE_SQL, K1, B
    from ingestion.selectors.visibility import VISIBLE_CLASSES_SQL, access_parameters

    def owner(sql: str, parameters: dict) -> list[tuple]:
        with connections["migrator"].cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall()

    measured = []
    for (share, place), (tag, members) in library.cases.items():
        asker = Asker(UUID(int=0), library.organisation, "bench", frozenset([tag]))
        base = {**access_parameters(asker), "builds": list(library.builds), "space": library.space, "limit": TOP,
                "k1": K1, "b": B, "lexemes": ["w3", "w17", "w40"]}  # fmt: skip
        times: dict[str, list[float]] = {}
        recalls, equal = [], True

        def as_reader(sql: str, parameters: dict, who: Asker = asker) -> list[tuple]:
            with snapshot(who):
                return rows(sql, parameters)

        def bare(_sql: str, parameters: dict) -> list[tuple]:
            classes = [row[0] for row in owner(VISIBLE_CLASSES_SQL, parameters)]
            return owner(BARE_SQL, {**parameters, "classes": classes})

        for query in library.queries:
            parameters = {**base, "vector": HalfVector(query).to_text()}
            exact = _exact(library, members, query)
            for repeat in range(options.repeat + 1):  # the first warms up
                found = {}
                for name, read, sql in (
                    ("dense_on", as_reader, DENSE_SQL), ("dense_off", owner, DENSE_SQL), ("dense_bare", bare, ""),
                    ("bm25_on", as_reader, BM25_SQL), ("bm25_off", owner, BM25_SQL),
                ):  # fmt: skip
                    started = time.perf_counter()
                    found[name] = read(sql, parameters)
                    if repeat:
                        times.setdefault(name, []).append((time.perf_counter() - started) * 1000)
                equal = equal and found["dense_on"] == found["dense_off"] and sorted(found["bm25_on"]) == sorted(found["bm25_off"])
            recalls.append(len(exact & {row[0] for row in found["dense_on"]}) / len(exact))
        measured.append(_case(share, place, len(members), recalls, equal, times))
    return measured


def _exact(library: Library, members: np.ndarray, query: np.ndarray) -> set[UUID]:
    scores = library.vectors[members].astype(np.float32) @ query.astype(np.float32)
    return {library.pages[members[i]] for i in np.argsort(-scores)[:TOP]}


def _case(share: float, place: str, visible: int, recalls: list[float], equal: bool, times: dict[str, list[float]]) -> dict[str, Any]:
    p50 = {name: round(float(np.percentile(values, 50)), 2) for name, values in times.items()}
    p95 = {name: round(float(np.percentile(values, 95)), 2) for name, values in times.items()}
    return {
        "share": share, "place": place, "visible": visible, "recall": round(float(np.mean(recalls)), 3), "rows_equal": equal,
        "p50_ms": p50, "p95_ms": p95,
        "dense_on_to_off": round(p50["dense_on"] / p50["dense_off"], 2), "dense_on_to_bare": round(p50["dense_on"] / p50["dense_bare"], 2),
        "bm25_on_to_off": round(p50["bm25_on"] / p50["bm25_off"], 2),
    }  # fmt: skip


def _print_table(value: dict[str, Any]) -> None:
    print(f"{value['pages']} pages, {value['dimensions']} dimensions (made in {value['made_seconds']} s); ms as p50/p95")
    columns = ("dense on", "off", "bare", "bm25 on", "off")
    print(f"{'permitted':<16}{'pages':>8}{'recall@10':>10}" + "".join(f"{c:>16}" for c in columns) + "  on/off: dense, bm25")
    for case in value["cases"]:
        cells = "".join(f"{case['p50_ms'][name]}/{case['p95_ms'][name]}".rjust(16) for name in case["p50_ms"])
        print(
            f"{case['share']:<8.2%}{case['place']:<8}{case['visible']:>8}{case['recall']:>10}{cells}"
            f"  {case['dense_on_to_off']}, {case['bm25_on_to_off']}"
        )


if __name__ == "__main__":
    sys.exit(main())
