"""The contract of the embedder: on the fake, on the shipped model, and on a user's own ONNX folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ingestion.seams.page_embedder import PageEmbedder, PageInput
from ingestion.seams.page_embedder.fake import HashedWordsEmbedder
from ingestion.seams.page_embedder.onnx_text import OnnxTextEmbedder

USERS_MODEL = Path(__file__).resolve().parents[3] / "shared" / "models" / "bge-small-en-v1.5"
TEXTS = (
    "The warranty of the pump lasts twenty-four months from delivery.",
    "Employees may work from home on two days a week.",
    "Revenue grew by eleven percent to 48 million euro.",
)


@pytest.fixture(scope="module", params=["fake", "shipped", "users"])
def embedder(request: pytest.FixtureRequest) -> PageEmbedder:
    if request.param == "fake":
        return HashedWordsEmbedder(512)
    if request.param == "shipped":
        return OnnxTextEmbedder()
    if not USERS_MODEL.exists():
        pytest.skip("../shared/models holds no model folder")
    return OnnxTextEmbedder(USERS_MODEL)


def test_vectors_are_unit_vectors_of_the_space(embedder: PageEmbedder) -> None:
    vectors = embedder.embed_texts(TEXTS)
    assert vectors.shape == (3, embedder.space.dimensions) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


def test_pages_come_back_in_order_with_one_vector_a_passage(embedder: PageEmbedder) -> None:
    pages = [PageInput(7, TEXTS[:2]), PageInput(8, ()), PageInput(9, TEXTS[2:])]
    found = embedder.embed_pages(pages)
    assert [e.number for e in found] == [7, 8, 9]
    assert found[0].passages.shape[0] == 2 and found[1].passages is None and found[1].pooled is None
    assert np.isclose(np.linalg.norm(found[2].pooled), 1, atol=1e-3)


def test_two_pages_differ_and_a_known_question_finds_its_page(embedder: PageEmbedder) -> None:
    vectors = embedder.embed_texts(TEXTS)
    assert float(vectors[0] @ vectors[1]) < 0.99
    question = embedder.embed_query("How long is the warranty of the pump?").pooled
    assert int(np.argmax(vectors @ question)) == 0


def test_a_text_has_the_same_vector_alone_and_in_company(embedder: PageEmbedder) -> None:
    alone = embedder.embed_texts(TEXTS[:1])[0]
    together = embedder.embed_texts(["short", *TEXTS, "word " * 400])[1]
    assert float(alone @ together) > 0.98


def test_weights_that_are_not_the_pinned_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    embedder = OnnxTextEmbedder()
    other = tmp_path / "tokenizer.json"
    other.write_text(embedder.folder.tokenizer.read_text(encoding="utf-8") + " ", encoding="utf-8")
    embedder.folder = replace(embedder.folder, tokenizer=other)
    with pytest.raises(Exception, match="pinned"):
        _ = embedder.space
