"""Embeds texts with sentence-transformers in planned batches: the same embeddings as `model.encode`, in the same order.

    python encode.py

`embed` is the part to copy. The model here is small, random and made in place, so that the example runs offline.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import lengthwise as lw
import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizer


def embed(model: SentenceTransformer, texts: Iterable[str], budget: str = "padded:32768", **settings: Any) -> Any:
    """The embeddings of texts, one after another, as NumPy arrays."""
    tokenizer, device = model.tokenizer, model.device
    model.eval()

    def token_ids() -> Iterator[np.ndarray]:
        # Many texts at once, as the tokenizer works on them in parallel. Nothing is padded yet.
        rest = iter(texts)
        while some := list(islice(rest, 1024)):
            found = tokenizer(some, truncation=True, max_length=model.max_seq_length, return_attention_mask=False)
            yield from map(np.array, found["input_ids"])

    def forward(batch: Any) -> np.ndarray:
        # The lengths are those in tokens, so batches are full, and their texts need no second look.
        mask = np.arange(batch.length) < np.array([len(ids) for ids in batch])[:, None]
        padded = np.full(mask.shape, tokenizer.pad_token_id)
        padded[mask] = np.concatenate(batch)
        features = {"input_ids": torch.from_numpy(padded), "attention_mask": torch.from_numpy(mask).long()}
        with torch.inference_mode():
            output = model({name: value.to(device) for name, value in features.items()})
        return output["sentence_embedding"].float().cpu().numpy()

    return lw.map_batches(forward, token_ids(), budget=budget, **settings)


def small_model(folder: Path, words: list[str]) -> SentenceTransformer:
    """A model of random weights that knows some words."""
    torch.manual_seed(0)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128
    )
    BertModel(config).save_pretrained(folder)
    transformer = Transformer(str(folder), max_seq_length=256)
    return SentenceTransformer(modules=[transformer, Pooling(64)], device="cpu")


def main() -> None:
    random.seed(0)
    words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(2, 9))) for _ in range(500)]
    texts = [" ".join(random.choices(words, k=min(int(random.lognormvariate(3, 1)) + 1, 300))) for _ in range(400)]
    with tempfile.TemporaryDirectory() as folder:
        model = small_model(Path(folder), words)
        embeddings = np.stack(list(embed(model, texts, budget="padded:4096")))
        alone = np.stack([model.encode(text) for text in texts])
    difference = np.abs(embeddings - alone).max()
    print(f"{len(embeddings)} texts, largest difference from one text at a time: {difference:.1e}")


if __name__ == "__main__":
    main()
