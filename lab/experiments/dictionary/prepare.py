"""Makes `tokens.npz` of the entries of the GNU dictionary of English (`apt-get install dict-gcide`)."""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np
from tokenizers import ByteLevelBPETokenizer

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
BEGIN, END, VOCABULARY, LONGEST = 0, 1, 8192, 1024


def number(text: str) -> int:
    """An offset or a size as the index writes it: base 64, the highest digit first."""
    value = 0
    for digit in text:
        value = value * 64 + DIGITS.index(digit)
    return value


def entries(folder: Path) -> list[str]:
    """The texts of the entries, each once, in the order of the file."""
    data = gzip.decompress((folder / "gcide.dict.dz").read_bytes())
    places = set()
    for line in (folder / "gcide.index").read_text(encoding="utf-8").splitlines():
        word, offset, size = line.split("\t")[:3]
        if not word.startswith("00"):
            places.add((number(offset), number(size)))
    texts = (data[start : start + size].decode("utf-8", "replace") for start, size in sorted(places))
    return [text for text in (" ".join(text.split()) for text in texts) if len(text) > 20]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("/usr/share/dictd"))
    parser.add_argument("--output", type=Path, default=Path("tokens.npz"))
    arguments = parser.parse_args()
    texts = entries(arguments.folder)
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(texts, vocab_size=VOCABULARY, special_tokens=["<begin>", "<end>"], show_progress=False)
    rows = [[BEGIN, *encoding.ids, END][:LONGEST] for encoding in bpe.encode_batch(texts)]
    lengths = np.array([len(row) for row in rows], dtype=np.uint32)
    tokens = np.fromiter((token for row in rows for token in row), dtype=np.uint16, count=int(lengths.sum()))
    np.savez_compressed(arguments.output, tokens=tokens, lengths=lengths)
    print(f"{len(rows)} entries, {len(tokens)} tokens, mean {lengths.mean():.1f}, median {np.median(lengths):.0f}")


if __name__ == "__main__":
    main()
