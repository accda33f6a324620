"""Turns parallel texts into tokens: one vocabulary of both languages, by byte-pair encoding."""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

#: The first tokens of the vocabulary; `model.py` knows them by number.
SPECIAL = ["<pad>", "<begin>", "<end>", "<unknown>"]
#: What the parts of the data are called in files.
PARTS = ("train", "val", "test_2016_flickr", "test_2017_flickr")


def read(folder: Path, part: str, language: str) -> list[str]:
    path = folder / f"{part}.{language}"
    if path.exists():
        text = path.read_text(encoding="utf-8")
    else:
        text = gzip.decompress(path.with_name(path.name + ".gz").read_bytes()).decode("utf-8")
    return [" ".join(line.split()) for line in text.splitlines()]


def trained(texts: list[str], size: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL[3]))
    tokenizer.normalizer = normalizers.NFKC()
    # Words begin with a mark, and punctuation is split off: a text is what its tokens are, one after another.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, special_tokens=SPECIAL, show_progress=False))
    return tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with train.en, train.de, val.en, …, as text or gzip")
    parser.add_argument("--languages", nargs=2, default=["en", "de"], metavar="CODE", help="from which to which (en de)")
    parser.add_argument("--vocabulary", type=int, default=8192, help="the number of tokens (8192)")
    parser.add_argument("--output", type=Path, default=Path("tokens.npz"))
    arguments = parser.parse_args()
    texts = {
        (part, language): read(arguments.folder, part, language)
        for part in PARTS
        for language in arguments.languages
        if any((arguments.folder / f"{part}.{language}{end}").exists() for end in ("", ".gz"))
    }
    both = [texts["train", language] for language in arguments.languages]
    tokenizer = trained([line for lines in both for line in lines], arguments.vocabulary)
    arrays: dict[str, np.ndarray] = {}
    for (part, language), lines in texts.items():
        side = "source" if language == arguments.languages[0] else "target"
        encoded = [encoding.ids for encoding in tokenizer.encode_batch(lines)]
        arrays[f"{part} {side} tokens"] = np.array([token for ids in encoded for token in ids], dtype=np.uint16)
        arrays[f"{part} {side} lengths"] = np.array([len(ids) for ids in encoded], dtype=np.uint16)
        if part.startswith("test") and side == "target":
            arrays[f"{part} text"] = np.array(lines)
    names = tokenizer.get_vocab()
    arrays["vocabulary"] = np.array(sorted(names, key=names.__getitem__))
    np.savez_compressed(arguments.output, **arrays)
    for side in ("source", "target"):
        lengths = arrays[f"train {side} lengths"]
        print(f"{side}: {len(lengths)} sentences, {lengths.sum()} tokens, the longest {lengths.max()}")


if __name__ == "__main__":
    main()
