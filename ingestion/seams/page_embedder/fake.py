"""The fake embedder: a hashed bag of words. Deterministic, fast, and honest about nothing but word overlap."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from ingestion.domain.errors import failure
from ingestion.seams.page_embedder import PageEmbedding, PageInput, QueryEmbedding, Space


class HashedWordsEmbedder:
    """`failing` makes every call fail, for tests of what then happens."""

    passage_words = 130

    def __init__(self, dimensions: int = 64, failing: bool = False) -> None:
        self.space = Space(f"hashed-words-{dimensions}", dimensions, f"hashed-words-{dimensions}")
        self.failing = failing

    def embed_pages(self, pages: Sequence[PageInput]) -> list[PageEmbedding]:
        results = []
        for page in pages:
            own = self.embed_texts(page.passages)
            pooled = None if not len(own) else own.mean(axis=0) / max(float(np.linalg.norm(own.mean(axis=0))), 1e-12)
            results.append(PageEmbedding(page.number, own if len(own) else None, pooled))
        return results

    def embed_query(self, question: str) -> QueryEmbedding:
        return QueryEmbedding(self.embed_texts([question])[0])

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        if self.failing:
            raise failure("embedder_failed", "told to fail")
        vectors = np.zeros((len(texts), self.space.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                vectors[row, int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % self.space.dimensions] += 1
            if not vectors[row].any():
                vectors[row, 0] = 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
