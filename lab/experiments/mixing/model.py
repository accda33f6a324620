"""A tagger of words, and a model of the next word, for `python -m lengthwise.lab run tags.toml --data FOLDER`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lengthwise import FileError, SettingError
from lengthwise.lab import Batch
from torch import nn
from torch.nn import functional

#: Where sentence lengths are divided, to see who pays.
BOUNDS = (5, 15, 30)
#: How often a word, and an ending, must be seen in training to have parameters of its own.
SEEN = (2, 5)
SHAPES = 4
#: How many words a convolution sees, and how many places there are between sentences so that it sees only one of them.
SEES, GAP = 5, 4
#: How many words can be told apart as the next word; the others count as one.
COMMON = 1000
#: What comes after the last word.
END = "\n"

Sentence = list[tuple[str, str]]


def read(path: Path) -> list[Sentence]:
    """Sentences of a file with a word, a tab and its tag in each line, and an empty line after each sentence."""
    if not path.is_file():
        raise FileError(f"there is no file {path}", hint="give a folder with train.tsv and dev.tsv as `--data`")
    sentences: list[Sentence] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#doc\t"):
            continue
        if line:
            word, tag = line.split("\t")
            sentences[-1].append((word, tag))
        elif sentences[-1]:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def made(count: int, seed: int) -> list[Sentence]:
    """Made-up sentences. The tag of a word follows from its ending and the word before it; short sentences have other
    words than long ones."""
    rng = np.random.default_rng(seed)
    sentences = []
    for length in np.clip(rng.lognormal(2.3, 0.8, count), 1, 60).astype(int):
        words = np.minimum(rng.zipf(1.4, length) + 3 * (length < 8), 300)
        tags = (words % 5 + np.concatenate([[0], words[:-1] % 2])) % 6
        sentences.append([(f"w{word}", f"t{tag}") for word, tag in zip(words.tolist(), tags.tolist(), strict=True)])
    return sentences


def shape(word: str) -> int:
    """Whether a word is in lower case, capitalized or in capitals, or has no letters."""
    if not any(letter.isalpha() for letter in word):
        return 3
    return 2 if len(word) > 1 and word.isupper() else int(word[0].isupper())


class Sentences:
    """All words as numbers, one after another, and what is to be learned of each."""

    def __init__(
        self, sentences: list[Sentence], words: dict[str, int], endings: dict[str, int], targets: list[int]
    ) -> None:
        every = [word for sentence in sentences for word, _ in sentence]
        self.words = torch.tensor([[words.get(word.lower(), 0), endings.get(word[-3:], 0), shape(word)] for word in every])
        self.targets = torch.tensor(targets)
        self.lengths = np.array([len(sentence) for sentence in sentences])
        self.starts = np.cumsum(self.lengths) - self.lengths

    def row(self, indices: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """These sentences as one row with a gap between them: words, where words are, and their targets."""
        lengths = self.lengths[indices]
        firsts = np.cumsum(lengths + GAP) - lengths - GAP
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        places = torch.from_numpy(np.repeat(firsts, lengths) + within)
        at = torch.from_numpy(np.repeat(self.starts[indices], lengths) + within)
        words = torch.zeros(int(places[-1]) + 1, self.words.shape[1], dtype=torch.long)
        words[places] = self.words[at]
        return words, places, self.targets[at]


class Model(nn.Module):
    """Two convolutions over five words: two on either side, or those before if the next word is to be learned."""

    def __init__(self, sizes: tuple[int, int, int], width: int, dropout: float, ahead: bool) -> None:
        super().__init__()
        words, endings, targets = sizes
        self.word, self.ending = nn.Embedding(words, width), nn.Embedding(endings, width)
        self.shape = nn.Embedding(SHAPES, width)
        self.layers = nn.ModuleList(nn.Conv1d(width, width, SEES) for _ in range(2))
        self.around = (SEES - 1, 0) if ahead else (SEES // 2, SEES // 2)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(width, targets)

    def forward(self, words: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        word, ending, form = words.unbind(-1)
        # Gaps are zero before every layer, so that a sentence does not see its neighbours.
        inside = torch.zeros(len(words), dtype=self.out.weight.dtype).index_fill(0, places, 1)
        x = (self.dropout(self.word(word) + self.ending(ending) + self.shape(form)) * inside[:, None]).T[None]
        for layer in self.layers:
            x = x + self.dropout(functional.gelu(layer(functional.pad(x, self.around)))) * inside
        return self.out(x[0].T[places])


def numbered(names: Sequence[str], least: int) -> dict[str, int]:
    """Numbers from 1 for names that occur at least so often; 0 is left for the others."""
    known = sorted(name for name, count in Counter(names).items() if count >= least)
    return {name: at for at, name in enumerate(known, 1)}


def tags_of(sentences: list[Sentence], known: dict[str, int]) -> list[int]:
    """The tag of each word, and one more for tags that are not in the training data."""
    return [known.get(tag, len(known)) for sentence in sentences for _, tag in sentence]


def next_words_of(sentences: list[Sentence], known: dict[str, int]) -> list[int]:
    """The word after each word, or the end of the sentence, and one more for rare words."""
    following = (word for sentence in sentences for word in (*(word.lower() for word, _ in sentence[1:]), END))
    return [known.get(word, len(known)) for word in following]


class Task:
    """Tags of words, or the next word, validated on `dev.tsv` of the data, or on made-up sentences if there is no data.

    In the settings, `target` is "tags" or "words". `sentences` is how many to train on: by default all, or 1,000 if they
    are made up.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        if settings.get("device", "cpu") != "cpu":
            raise SettingError(f"expected the device cpu, got {settings['device']!r}", hint="give `--device cpu`")
        data, count = settings["data"], settings.get("sentences")
        if data is None:
            training, validation = made(count or 1000, 1), made(200, 2)
        else:
            training, validation = (read(Path(data) / name) for name in ("train.tsv", "dev.tsv"))
            if count:
                training = [training[at] for at in np.random.default_rng(0).permutation(len(training))[:count]]
        every = [(word.lower(), word[-3:], tag) for sentence in training for word, tag in sentence]
        words, endings = (numbered(column, least) for column, least in zip(list(zip(*every))[:2], SEEN, strict=True))
        self.ahead = settings["target"] == "words"
        self.error = "word error rate" if self.ahead else "tag error rate"
        if self.ahead:
            common = Counter(word for word, _, _ in every).most_common(COMMON)
            names, targets_of = [END, *(word for word, _ in common)], next_words_of
        else:
            names, targets_of = sorted({tag for _, _, tag in every}), tags_of
        known = {name: at for at, name in enumerate(names)}
        self.training, self.validation = (
            Sentences(part, words, endings, targets_of(part, known)) for part in (training, validation)
        )
        self.lengths = self.training.lengths
        self.sizes = (len(words) + 1, len(endings) + 1, len(known) + 1)
        self.width, self.dropout = settings["width"], settings["dropout"]
        self.about = {
            "data": f"{len(training)} sentences with {len(every)} words; {len(validation)} sentences for validation",
            "model": f"embeddings of {self.width} for words, endings and shapes, two convolutions over {SEES} words",
        }

    def model(self) -> Model:
        return Model(self.sizes, self.width, self.dropout, self.ahead)

    def loss(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, int]:
        return self.sum(model, batch.indices), int(self.lengths[batch.indices].sum())

    def sum(self, model: nn.Module, indices: np.ndarray) -> torch.Tensor:
        """The sum of the losses of all words of these sentences."""
        words, places, targets = self.training.row(indices)
        return functional.cross_entropy(model(words, places), targets, reduction="sum")

    def validate(self, model: nn.Module) -> dict[str, float]:
        """The loss, the share of wrong tags or words, and the loss by sentence length."""
        part = self.validation
        sums = np.zeros((3, len(BOUNDS) + 1))
        order = np.argsort(part.lengths, kind="stable")
        for indices in np.array_split(order, max(len(order) // 100, 1)):
            words, places, targets = part.row(indices)
            scores = model(words, places)
            each = functional.cross_entropy(scores, targets, reduction="none").double().numpy()
            wrong = (scores.argmax(-1) != targets).numpy()
            lengths = part.lengths[indices]
            kind = np.repeat(np.searchsorted(BOUNDS, lengths), lengths)
            for total, values in zip(sums, (each, wrong, np.ones(len(targets))), strict=True):
                total += np.bincount(kind, values, len(BOUNDS) + 1)
        loss, wrong, words = sums
        measures = {"loss": loss.sum() / words.sum(), "error": wrong.sum() / words.sum()}
        lows = [1, *(bound + 1 for bound in BOUNDS)]
        names = [f"{low} to {high}" for low, high in zip(lows, BOUNDS)] + [f"{lows[-1]} or more"]
        for name, value, count in zip(names, loss, words, strict=True):
            measures[f"loss of sentences of {name}"] = value / max(count, 1)
        return measures


def build(settings: dict[str, Any]) -> Task:
    return Task(settings)
