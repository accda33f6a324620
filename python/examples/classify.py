"""Classifies texts with a pipeline of transformers in planned batches, in the order of the texts.

    python classify.py

The model here is small, random and made in place, so that the example runs offline.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import lengthwise as lw
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer, pipeline


def classify(classifier: Any, texts: list[str], budget: str = "padded:16384", **settings: Any) -> Any:
    """The label and score of each text."""

    def length(text: str) -> int:
        return len(classifier.tokenizer(text, truncation=True)["input_ids"])

    def run(batch: Any) -> list[dict[str, Any]]:
        # The pipeline pads what it gets as one batch to its longest text.
        return classifier(list(batch), batch_size=len(batch), truncation=True)

    return lw.map_batches(run, texts, length, budget=budget, **settings)


def small_pipeline(folder: Path, words: list[str]) -> Any:
    """A pipeline with random weights that knows some words."""
    torch.manual_seed(0)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = BertTokenizer(str(folder / "vocab.txt"), model_max_length=256)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128
    )
    model = BertForSequenceClassification(config).eval()
    return pipeline("text-classification", model=model, tokenizer=tokenizer, device="cpu")


def main() -> None:
    random.seed(0)
    words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(2, 9))) for _ in range(500)]
    texts = [" ".join(random.choices(words, k=min(int(random.lognormvariate(3, 1)) + 1, 300))) for _ in range(400)]
    with tempfile.TemporaryDirectory() as folder:
        classifier = small_pipeline(Path(folder), words)
        found = list(classify(classifier, texts, budget="padded:4096"))
        alone = [classifier(text, truncation=True)[0] for text in texts]
    same = sum(one["label"] == other["label"] for one, other in zip(found, alone))
    difference = max(abs(one["score"] - other["score"]) for one, other in zip(found, alone))
    print(f"{same} of {len(texts)} labels are those of one text at a time, largest difference of scores: {difference:.1e}")


if __name__ == "__main__":
    main()
