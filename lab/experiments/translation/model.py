"""A Transformer that translates: its batches are padded rectangles of both sides, or packed rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from lengthwise.lab import Batch, Graphs
from torch import nn
from torch.nn import functional

PAD, BEGIN, END = 0, 1, 2
#: Packed rows for graphs have multiples of so many tokens, and of so many sentences, of which at least the last 16 are
#: padding.
ROW, SENTENCES, LAST = 256, 64, 16


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.both = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, other: torch.Tensor, seen: Seen) -> torch.Tensor:
        query = self.query(x).unflatten(-1, (self.heads, -1))
        key, value = self.both(other).unflatten(-1, (2 * self.heads, -1)).chunk(2, dim=-2)
        return self.out(seen(query, key, value).flatten(-2))


class Seen:
    """Which positions a position may attend to."""

    def __call__(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class InRectangle(Seen):
    """The positions of its own sequence that are not padding; with `causal`, those up to itself."""

    def __init__(self, mask: torch.Tensor | None, causal: bool) -> None:
        self.mask, self.causal = mask, causal

    def __call__(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        query, key, value = (part.transpose(1, 2) for part in (query, key, value))
        mixed = functional.scaled_dot_product_attention(query, key, value, self.mask, is_causal=self.causal)
        return mixed.transpose(1, 2)


class InRow(Seen):
    """The positions of its own sequence in a packed row, where sequences end there; with `causal`, up to itself."""

    def __init__(self, starts: torch.Tensor, of: torch.Tensor, longest: int, causal: bool) -> None:
        self.starts, self.of, self.longest, self.causal = starts, of, longest, causal

    def __call__(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        if query.is_cuda:
            from torch.nn.attention.varlen import varlen_attn

            window = (-1, 0) if self.causal else (-1, -1)
            return varlen_attn(query, key, value, self.starts, self.of, self.longest, self.longest, window_size=window)
        rows, columns = (torch.bucketize(torch.arange(len(part)), starts, right=True)
                         for part, starts in ((query, self.starts), (key, self.of)))
        mask = rows[:, None] == columns
        if self.causal:
            mask &= torch.ones_like(mask).tril()
        query, key, value = (part.transpose(0, 1) for part in (query, key, value))
        return functional.scaled_dot_product_attention(query, key, value, mask).transpose(0, 1)


class Layer(nn.Module):
    """Attention to oneself, in a decoder also to the source, and a feed-forward network; norms come first."""

    def __init__(self, width: int, heads: int, inner: int, dropout: float, decoder: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if decoder else 2))
        self.own = Attention(width, heads)
        self.source = Attention(width, heads) if decoder else None
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, seen: Seen, source: torch.Tensor | None = None, across: Seen | None = None) -> torch.Tensor:
        normed = self.norms[0](x)
        x = x + self.dropout(self.own(normed, normed, seen))
        if self.source is not None:
            x = x + self.dropout(self.source(self.norms[2](x), source, across))
        inner = self.dropout(functional.relu(self.up(self.norms[1](x))))
        return x + self.dropout(self.down(inner))


class Translator(nn.Module):
    def __init__(self, vocabulary: int, longest: int, width: int, heads: int, inner: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.ModuleList(nn.Embedding(longest, width) for _ in range(2))
        self.encoder, self.decoder = (
            nn.ModuleList(Layer(width, heads, inner, dropout, decoder) for _ in range(layers)) for decoder in (False, True)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.dropout = nn.Dropout(dropout)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=width**-0.5)

    def embedded(self, tokens: torch.Tensor, places: torch.Tensor, side: int) -> torch.Tensor:
        scaled = self.tokens(tokens) * self.tokens.embedding_dim**0.5
        # Padding may go on after the longest sentence.
        places = places.clamp(max=self.places[side].num_embeddings - 1)
        return self.dropout(scaled + self.places[side](places))

    def encoded(self, tokens: torch.Tensor, places: torch.Tensor, seen: Seen) -> torch.Tensor:
        x = self.embedded(tokens, places, 0)
        for layer in self.encoder:
            x = layer(x, seen)
        return self.norms[0](x)

    def scores(self, tokens: torch.Tensor, places: torch.Tensor, source: torch.Tensor, seen: Seen, across: Seen) -> torch.Tensor:
        x = self.embedded(tokens, places, 1)
        for layer in self.decoder:
            x = layer(x, seen, source, across)
        return functional.linear(self.norms[1](x), self.tokens.weight)


class Side:
    """All tokens of one side on the device, from which batches are gathered."""

    def __init__(self, tokens: np.ndarray, lengths: np.ndarray, device: torch.device) -> None:
        self.device = device
        self.tokens = torch.from_numpy(tokens.astype(np.int64)).to(device)
        self.lengths = lengths.astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])

    def sent(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device, non_blocking=True)

    def padded(self, indices: np.ndarray, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens as a rectangle, and where they are not padding."""
        where = self.sent(np.stack([self.starts[indices], self.lengths[indices]]))
        place = torch.arange(length, device=self.device)
        inside = place < where[1][:, None]
        tokens = self.tokens[(where[0][:, None] + place).clamp(max=len(self.tokens) - 1)]
        return torch.where(inside, tokens, PAD), inside

    def packed(self, indices: np.ndarray, more: int) -> Row:
        """Sentences one after another, and `more` sentences of padding after them, which make few shapes of rows."""
        lengths = self.lengths[indices]
        ends = np.cumsum(lengths)
        total = int(ends[-1])
        place = np.arange(total) - np.repeat(ends - lengths, lengths)
        where = np.repeat(self.starts[indices], lengths) + place
        # Whatever is read there becomes padding.
        room = -(total + more) % ROW + more if more else 0
        where, place = np.pad(where, (0, room)), np.pad(place, (0, room))
        ends = np.concatenate([[0], ends, total + np.arange(1, more + 1) * room // max(more, 1)]).astype(np.int32)
        tokens = self.tokens[self.sent(where)]
        tokens[total:] = PAD
        return Row(tokens, self.sent(place), self.sent(ends))


class Row(NamedTuple):
    """A packed row: its tokens, their places in their sentences, and where sentences start."""

    tokens: torch.Tensor
    places: torch.Tensor
    starts: torch.Tensor


def with_end(tokens: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same with an end after every sentence."""
    return np.insert(tokens, np.cumsum(lengths.astype(np.int64)), END), lengths + 1


class Task:
    error = "token error rate"
    higher = ("BLEU 2016", "chrF 2016", "BLEU 2017", "chrF 2017")

    def __init__(self, settings: dict[str, Any]) -> None:
        data = np.load(settings["data"])
        self.device = torch.device(settings["device"])
        self.vocabulary = data["vocabulary"]
        self.sides = {
            (part, side): Side(*with_end(data[f"{part} {side} tokens"], data[f"{part} {side} lengths"]), self.device)
            for part in ("train", "val", "test_2016_flickr", "test_2017_flickr")
            for side in ("source", "target")
            if f"{part} {side} tokens" in data
        }
        self.texts = {part: data[f"{part} text"].tolist() for part in ("test_2016_flickr", "test_2017_flickr") if f"{part} text" in data}
        self.lengths = np.stack([self.sides["train", side].lengths for side in ("source", "target")], 1)
        self.longest = int(max(side.lengths.max() for side in self.sides.values())) + 1
        self.size = {name: settings.get(name, value) for name, value in SIZE.items()}
        self.smoothing, self.beam = settings.get("smoothing", 0.1), settings.get("beam", 4)
        self.graphs = Graphs(self.sum, settings.get("amp", "none"))
        if settings.get("graphs", False):
            self.backward = self._by_graph
        # The longest in packed rows, where padding is divided into sentences too.
        self.in_rows = max(self.longest, ROW // LAST + 2)
        pairs, tokens = len(self.lengths), int(self.lengths.sum())
        self.about = {"data": f"{pairs:,} pairs of sentences, {tokens:,} tokens of {len(self.vocabulary):,}"}

    def model(self) -> nn.Module:
        return Translator(len(self.vocabulary), self.longest, **self.size)

    def inputs(self, batch: Batch, few_shapes: bool) -> tuple[torch.Tensor, ...]:
        """Source and target as two packed rows, or as two rectangles, each with its mask."""
        sides = [self.sides["train", side] for side in ("source", "target")]
        if batch.packed:
            more = LAST + -(len(batch) + LAST) % SENTENCES if few_shapes else 0
            return tuple(part for side in sides for part in side.packed(batch.indices, more))
        return tuple(part for side, length in zip(sides, batch.shape, strict=True) for part in side.padded(batch.indices, length))

    def sum(self, model: Translator, *inputs: torch.Tensor) -> torch.Tensor:
        if len(inputs) == 6:
            scores, labels = packed_scores(model, Row(*inputs[:3]), Row(*inputs[3:]), self.in_rows)
        else:
            scores, labels = padded_scores(model, inputs[:2], inputs[2:])
        return smoothed(scores, labels, self.smoothing)

    def count(self, batch: Batch) -> int:
        return int(self.lengths[batch.indices, 1].sum())

    def loss(self, model: Translator, batch: Batch) -> tuple[torch.Tensor, int]:
        return self.sum(model, *self.inputs(batch, few_shapes=False)), self.count(batch)

    def _by_graph(self, model: Translator, batch: Batch, scale: float) -> tuple[torch.Tensor, int]:
        """As `loss`, and the gradients: by the graph that was recorded for this shape."""
        return self.graphs.backward(model, self.inputs(batch, few_shapes=True), scale), self.count(batch)

    def validate(self, model: Translator) -> dict[str, float]:
        source, target = self.sides["val", "source"], self.sides["val", "target"]
        total, wrong = 0.0, 0
        for part in np.array_split(np.argsort(target.lengths, kind="stable"), 8):
            padded = [side.padded(part, int(side.lengths[part].max())) for side in (source, target)]
            scores, labels = padded_scores(model, *padded)
            total += float(smoothed(scores, labels, 0.0))
            wrong += int(((scores.argmax(-1) != labels) & (labels != PAD)).sum())
        count = float(target.lengths.sum())
        return {"loss": total / count, "error": wrong / count}

    def test(self, model: Translator) -> dict[str, float]:
        """Translations by beam search, compared with the references as they were written."""
        if not self.texts:
            return {}
        import sacrebleu

        measures = {}
        for part, texts in self.texts.items():
            source, translations = self.sides[part, "source"], [""] * len(texts)
            for indices in np.array_split(np.argsort(source.lengths, kind="stable"), max(1, len(texts) // 500)):
                tokens, inside = source.padded(indices, int(source.lengths[indices].max()))
                for index, found in zip(indices, translated(model, tokens, inside, self.beam, self.longest), strict=True):
                    translations[index] = self.text(found)
            year = part.split("_")[1]
            measures[f"BLEU {year}"] = sacrebleu.corpus_bleu(translations, [texts]).score
            measures[f"chrF {year}"] = sacrebleu.corpus_chrf(translations, [texts]).score
        return measures

    def text(self, tokens: list[int]) -> str:
        return "".join(self.vocabulary[token] for token in tokens).replace("\u2581", " ").strip()


SIZE = {"width": 384, "heads": 6, "inner": 1536, "layers": 3, "dropout": 0.3}


def build(settings: dict[str, Any]) -> Task:
    # cuDNN's attention spends a tenth of a second on every new shape, and the others do not.
    torch.backends.cuda.enable_cudnn_sdp(settings.get("cudnn", False))
    return Task(settings)


def shifted(labels: torch.Tensor) -> torch.Tensor:
    """What the decoder reads: the beginning, and every label but the last."""
    return functional.pad(labels[..., :-1], (1, 0), value=BEGIN)


def padded_scores(model: Translator, source: tuple, target: tuple) -> tuple[torch.Tensor, torch.Tensor]:
    (tokens, inside), (labels, _) = source, target
    places = [torch.arange(part.shape[1], device=part.device).expand_as(part) for part in (tokens, labels)]
    mask = inside[:, None, None, :]
    encoded = model.encoded(tokens, places[0], InRectangle(mask, False))
    scores = model.scores(shifted(labels), places[1], encoded, InRectangle(None, True), InRectangle(mask, False))
    return scores, labels


def packed_scores(model: Translator, source: Row, target: Row, longest: int) -> tuple[torch.Tensor, torch.Tensor]:
    read = torch.where(target.places == 0, BEGIN, functional.pad(target.tokens[:-1], (1, 0)))
    encoded = model.encoded(source.tokens, source.places, InRow(source.starts, source.starts, longest, False))
    own, across = InRow(target.starts, target.starts, longest, True), InRow(target.starts, source.starts, longest, False)
    return model.scores(read, target.places, encoded, own, across), target.tokens


def smoothed(scores: torch.Tensor, labels: torch.Tensor, smoothing: float) -> torch.Tensor:
    return functional.cross_entropy(
        scores.flatten(0, -2).float(), labels.flatten(), ignore_index=PAD, reduction="sum", label_smoothing=smoothing
    )


def translated(model: Translator, tokens: torch.Tensor, inside: torch.Tensor, beam: int, longest: int) -> list[list[int]]:
    """The best translations of beam search: sums of log-probabilities, divided by the length."""
    count, device = len(tokens), tokens.device
    places = torch.arange(tokens.shape[1], device=device).expand_as(tokens)
    mask = inside[:, None, None, :]
    encoded = model.encoded(tokens, places, InRectangle(mask, False))
    encoded, mask = (part.repeat_interleave(beam, 0) for part in (encoded, mask))
    lines = torch.full((count * beam, 1), BEGIN, device=device)
    # All lines begin alike, so only the first of each sentence counts.
    sums = torch.full((count, beam), float("-inf"), device=device)
    sums[:, 0] = 0.0
    done: list[list[tuple[float, list[int]]]] = [[] for _ in range(count)]
    for length in range(1, min(longest, tokens.shape[1] * 2 + 10) + 1):
        own = torch.arange(lines.shape[1], device=device).expand_as(lines)
        scores = model.scores(lines, own, encoded, InRectangle(None, True), InRectangle(mask, False))[:, -1]
        more = functional.log_softmax(scores.float(), -1)
        more[:, [PAD, BEGIN]] = float("-inf")
        ends = (sums + more[:, END].view(count, beam)).div(length).tolist()
        kept = lines.view(count, beam, -1)[:, :, 1:].tolist()
        for sentence in range(count):
            done[sentence] += [(ends[sentence][at], kept[sentence][at]) for at in range(beam)]
            done[sentence] = sorted(done[sentence], key=lambda found: -found[0])[:1]
        more[:, END] = float("-inf")
        sums, which = (sums[:, :, None] + more.view(count, beam, -1)).flatten(1).topk(beam)
        before, token = which // more.shape[1], which % more.shape[1]
        rows = (before + torch.arange(count, device=device)[:, None] * beam).flatten()
        lines = torch.cat([lines[rows], token.view(-1, 1)], 1)
        # A sum only falls: no line can become better than what is done, if it was as long as the longest.
        best = torch.tensor([found[0][0] for found in done], device=device)
        if bool((sums[:, 0] / longest <= best).all()):
            break
    return [found[0][1] for found in done]
