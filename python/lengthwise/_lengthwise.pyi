# Written by stubs.py from the Rust signatures; not edited by hand.

import numpy as np
from _typeshed import SupportsGetItem
from os import PathLike
from typing import Any, SupportsFloat, SupportsIndex, final

__all__ = ["Batches", "Chunks", "Comparison", "CostModel", "Feed", "Fit", "Inspection", "Lengths", "Measures", "Plan", "Planner", "Schedule", "Statistics", "Tuning", "compare", "effective_mates", "example", "explain", "inspect", "ladder", "load_plan", "read_lengths", "tune"]

@final
class Batches:
    """
    The batches of a plan, one after another.
    """
    def __iter__(self, /) -> Batches: ...
    def __length_hint__(self, /) -> int: ...
    def __next__(self, /) -> Any: ...

@final
class Chunks:
    """
    Sequences cut into pieces of at most `size`. The pieces are planned as sequences of their own:
    give `pieces` as lengths. Piece `i` is from sequence `sequences[i]`, and begins at `offsets[i]`.
    """
    def __len__(self, /) -> int: ...
    def __new__(cls, /, lengths: Any, size: SupportsIndex) -> Chunks: ...
    def __repr__(self, /) -> str: ...
    @property
    def offsets(self, /) -> np.ndarray:
        """
        Where each piece begins in its sequence.
        """
    @property
    def pieces(self, /) -> Lengths:
        """
        The lengths of the pieces.
        """
    @property
    def sequences(self, /) -> np.ndarray:
        """
        The sequence that each piece is from.
        """

@final
class Comparison:
    """
    The measures of several strategies on the same lengths.
    """
    def __repr__(self, /) -> str: ...
    def __str__(self, /) -> str: ...
    def _repr_html_(self, /) -> Any: ...
    @property
    def rows(self, /) -> Any:
        """
        One dictionary for each strategy: means over the epochs, and `sd` with their deviations.
        """
    def save_html(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the report to an .html file, whole or not at all.
        """
    @property
    def settings(self, /) -> Any:
        """
        The settings that all strategies have in common.
        """
    def to_html(self, /) -> str:
        """
        The report as one HTML page that needs neither network nor other files.
        """
    def to_json(self, /) -> str:
        """
        The JSON that `lengthwise compare --json` prints.
        """

@final
class CostModel:
    """
    How many seconds a training step takes on a batch of B sequences padded to L:
    a + b·L + c·B·L + d·B·L².
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, model: Any) -> CostModel:
        """
        The model that a preset, coefficients as in "a=0.001,c=1e-9", or a file names.
        """
    def __reduce__(self, /) -> tuple[type, tuple[str]]: ...
    def __repr__(self, /) -> str: ...
    def __str__(self, /) -> str: ...
    @property
    def coefficients(self, /) -> tuple[float, float, float, float]:
        """
        The coefficients a, b, c and d.
        """
    def epoch_seconds(self, /, plan: Plan) -> float:
        """
        How many seconds the steps of a plan take, one batch a step.
        """
    @staticmethod
    def fit(batch_sizes: Any, batch_lengths: Any, seconds: Any) -> Fit:
        """
        Fits a model to measured steps.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> CostModel:
        """
        Reads a model from a file.
        """
    def seconds(self, /, batch_size: SupportsIndex, batch_length: SupportsIndex) -> float:
        """
        How many seconds a step takes.
        """

@final
class Feed:
    """
    Plans the batches of a stream from lengths: they are pushed one after another, and steps are taken.
    `lengthwise.stream_batches` does both for an iterable of items.
    """
    def __new__(cls, /, budget: Any, *, shapes: str = ..., window: SupportsIndex = ..., pivot: str = ..., over_long: str = ..., tail: str = ..., world_size: SupportsIndex = ..., seed: SupportsIndex = ..., epoch: SupportsIndex = ..., state: str | None = None) -> Feed: ...
    def __repr__(self, /) -> str: ...
    def end(self, /) -> None:
        """
        The stream has no more sequences.
        """
    @property
    def held(self, /) -> int:
        """
        How many sequences are held.
        """
    @property
    def left_out(self, /) -> int:
        """
        How many over-long sequences were left out.
        """
    def needs(self, /) -> bool:
        """
        Whether the next step needs another sequence, or the word that there is none.
        """
    @property
    def position(self, /) -> int:
        """
        The position of the sequence to be pushed next: how many were read, and after a resume where
        the source must be read from.
        """
    def push(self, /, length: SupportsIndex) -> int | None:
        """
        Takes the length of the next sequence. Gives the slot in which it is held, a number below the
        window; `None` if it is left out, or was in a batch before the stream was resumed.
        """
    @property
    def rungs(self, /) -> list[int]:
        """
        The batch lengths of a ladder that was learned from the stream, rising; empty if there is none.
        """
    def state(self, /) -> str:
        """
        Where the stream stands, as one line of JSON.
        """
    def step(self, /) -> list[tuple[list[int], list[int], int]] | None:
        """
        The next step: for each rank the slots and the positions of its batch, and the batch length.
        `None` while another sequence is needed, and at the end.
        """
    @property
    def truncated(self, /) -> int:
        """
        How many over-long sequences were truncated.
        """
    @property
    def world_size(self, /) -> int:
        """
        The number of ranks.
        """

@final
class Fit:
    """
    A cost model, and how well it says what was measured.
    """
    def __repr__(self, /) -> str: ...
    @property
    def mean_relative_error(self, /) -> float:
        """
        The mean of the relative errors without their signs.
        """
    @property
    def model(self, /) -> CostModel:
        """
        The model.
        """
    @property
    def r2(self, /) -> float:
        """
        How much better the model is than the best constant time, from 0 to 1.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the model to a file that `CostModel.load` and the command line read.
        """
    @property
    def worst(self, /) -> int:
        """
        The measured step that the model is furthest from, by index.
        """
    @property
    def worst_relative_error(self, /) -> float:
        """
        The relative error of that step: predicted ÷ measured − 1.
        """

@final
class Inspection:
    """
    What a set of lengths is like.
    """
    def __repr__(self, /) -> str: ...
    def __str__(self, /) -> str: ...
    def asdict(self, /) -> Any:
        """
        Everything by name, as in the JSON of `lengthwise inspect --json`.
        """
    def to_json(self, /) -> str:
        """
        The JSON that `lengthwise inspect --json` prints.
        """
    @property
    def warnings(self, /) -> list[str]:
        """
        What deserves a second look.
        """

@final
class Lengths:
    """
    The lengths of all sequences, checked once.

    Whatever takes lengths takes one of these too, and then need not check them again.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, lengths: Any, second: Any | None = None) -> Lengths: ...
    def __reduce__(self, /) -> tuple[type, tuple[np.ndarray, Lengths | None]]: ...
    def __repr__(self, /) -> str: ...
    @property
    def digest(self, /) -> str:
        """
        A fingerprint of the lengths in their order, as sixteen hexadecimal digits.
        """
    @property
    def max(self, /) -> int:
        """
        The longest length.
        """
    @property
    def min(self, /) -> int:
        """
        The shortest length.
        """
    def numpy(self, /) -> np.ndarray:
        """
        A copy as an array.
        """
    @property
    def second(self, /) -> Lengths | None:
        """
        The second lengths, if every sequence has two.
        """
    @property
    def total(self, /) -> int:
        """
        The sum of all lengths.
        """

@final
class Measures:
    """
    What one plan costs.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self, /) -> str: ...
    def asdict(self, /) -> dict[str, Any]:
        """
        All of them by name.
        """
    @property
    def batches(self, /) -> int:
        """
        The number of batches.
        """
    @property
    def cells(self, /) -> int:
        """
        The sum of batch size × batch length.
        """
    @property
    def first_padding_rate(self, /) -> float | None:
        """
        Empty cells ÷ all cells of the first of two lengths; `None` if there is one. Everything else is
        of both together.
        """
    @property
    def lag1_correlation(self, /) -> float:
        """
        The correlation of the lengths of successive batches.
        """
    @property
    def largest_batch(self, /) -> int:
        """
        The most sequences in any batch.
        """
    @property
    def largest_batch_cells(self, /) -> int:
        """
        The most cells in any batch: what memory must hold.
        """
    @property
    def mean_batch_length(self, /) -> float:
        """
        The mean of the batch lengths, weighted by batch size.
        """
    @property
    def mean_batch_padding_rate(self, /) -> float:
        """
        The mean of the batches' own padding rates, weighted by batch size.
        """
    @property
    def padding_rate(self, /) -> float:
        """
        Empty cells ÷ all cells, over the whole plan.
        """
    @property
    def second_padding_rate(self, /) -> float | None:
        """
        The same of the second.
        """
    @property
    def sequences(self, /) -> int:
        """
        The number of sequences in them.
        """
    @property
    def shapes(self, /) -> int:
        """
        How many different pairs of batch size and batch length there are.
        """
    @property
    def steps(self, /) -> int:
        """
        The sum of the batch lengths: what a recurrent network waits for.
        """

@final
class Plan:
    """
    All batches of one epoch, in order: a sequence of arrays of indices.
    """
    def __contains__(self, batch: Any, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, at: Any, /) -> Any: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Batches: ...
    def __len__(self, /) -> int: ...
    def __reduce__(self, /) -> tuple[Any, tuple[bytes, Lengths]]: ...
    def __repr__(self, /) -> str: ...
    def _repr_html_(self, /) -> Any: ...
    @staticmethod
    def _restore(file: bytes, lengths: Any) -> Plan:
        """
        A plan from how it was pickled.
        """
    @property
    def batch_lengths(self, /) -> np.ndarray:
        """
        What each batch is padded to.
        """
    @property
    def batch_sizes(self, /) -> np.ndarray:
        """
        How many sequences each batch has.
        """
    def count(self, /, batch: Any) -> int:
        """
        How many batches have exactly these indices.
        """
    @property
    def digest(self, /) -> str:
        """
        A fingerprint of the batches, as the command line prints it: equal on every machine.
        """
    @property
    def ends(self, /) -> np.ndarray:
        """
        Where each batch ends in `indices`.
        """
    @property
    def epoch(self, /) -> int:
        """
        The epoch.
        """
    def for_rank(self, /, rank: SupportsIndex, world_size: SupportsIndex) -> Plan:
        """
        The batches of one of `world_size` ranks: the same number on every rank.
        """
    def index(self, /, batch: Any) -> int:
        """
        The number of the first batch that has exactly these indices.
        """
    @property
    def indices(self, /) -> np.ndarray:
        """
        The sequences of all batches, one batch after another.
        """
    @property
    def left_out(self, /) -> np.ndarray:
        """
        The sequences that are in no batch, because over-long ones were to be dropped.
        """
    @property
    def lengths(self, /) -> np.ndarray:
        """
        The lengths of all sequences, padded or not.
        """
    def measure(self, /) -> Measures:
        """
        What the plan costs.
        """
    @property
    def over_long(self, /) -> np.ndarray:
        """
        The sequences that exceed the budget even alone.
        """
    @property
    def packed(self, /) -> bool:
        """
        Whether a batch is one row that its sequences share, one after another.
        """
    @property
    def positions(self, /) -> np.ndarray:
        """
        How many positions of each batch are not padding: what a mean loss is divided by.
        """
    def resume(self, /, cursor: str, world_size: SupportsIndex) -> Schedule:
        """
        What is left of the epoch after all that a cursor counts, for as many ranks as there are now.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the plan to a .json, .jsonl or .npz file, whole or not at all.
        """
    def schedule(self, /, world_size: SupportsIndex) -> Schedule:
        """
        The batches dealt to `world_size` ranks, step by step.
        """
    @property
    def second_batch_lengths(self, /) -> np.ndarray | None:
        """
        What the second lengths of every batch are padded to; `None` if sequences have one length.
        """
    @property
    def second_positions(self, /) -> np.ndarray | None:
        """
        How many positions of second lengths of each batch are not padding; `None` if sequences have
        one length.
        """
    @property
    def settings(self, /) -> dict[str, Any]:
        """
        How it was made: every setting by name.
        """
    def tolist(self, /) -> list[Any]:
        """
        The batches as lists of Python's integers.
        """
    @property
    def truncated(self, /) -> np.ndarray:
        """
        The sequences that are to be cut to their batch length.
        """

@final
class Planner:
    """
    Plans epochs: the same lengths, settings, seed and epoch give the same plan on every machine.
    """
    def __new__(cls, /, lengths: Any, strategy: str | None = None, *, second: Any | None = None, budget: Any | None = None, shapes: str | None = None, arrange: str = ..., over_long: str = ..., steps: str | None = None, tail: str = ..., cost_model: Any | None = None, accumulate: SupportsIndex = ..., canonical_ranks: SupportsIndex | None = None, constant_steps: bool = ..., seed: SupportsIndex = ..., statistics: Statistics | None = None, shard: SupportsIndex | None = None, shards: SupportsIndex | None = None) -> Planner: ...
    def __repr__(self, /) -> str: ...
    @property
    def lengths(self, /) -> Lengths:
        """
        The lengths that are planned.
        """
    def needs(self, /) -> Statistics:
        """
        What this shard needs: merged into the statistics with what all others need, it says how many
        batches every shard takes.
        """
    def plan(self, /, epoch: SupportsIndex = ...) -> Plan:
        """
        The plan of one epoch.
        """
    @property
    def rungs(self, /) -> list[int] | None:
        """
        The batch lengths of the ladder, rising; `None` if the shapes are no ladder.
        """

@final
class Schedule:
    """
    The batches of an epoch dealt to ranks, step by step.
    """
    def __len__(self, /) -> int:
        """
        The number of steps, the same on every rank.
        """
    def __repr__(self, /) -> str: ...
    @property
    def accumulate(self, /) -> int:
        """
        How many batches each rank takes in a step.
        """
    def all_ranks(self, /) -> Plan:
        """
        All batches: those of the first step, rank after rank, then those of the second, and so on.
        """
    def cursor(self, /, steps: SupportsIndex) -> str:
        """
        Where the epoch stands when every rank has taken so many of these steps, as one line of JSON:
        the same on every rank, and small enough for every checkpoint.
        """
    @property
    def dropped(self, /) -> np.ndarray:
        """
        The sequences that are in no step, because the tail is dropped.
        """
    def for_rank(self, /, rank: SupportsIndex) -> Plan:
        """
        The batches of one rank, step by step.
        """
    @property
    def idle_bound(self, /) -> float:
        """
        What the idle share is at least, however these batches are dealt to steps of as many.
        """
    @property
    def idle_share(self, /) -> float:
        """
        The share of the ranks' time that is spent waiting for the slowest rank of each step.
        """
    @property
    def positions(self, /) -> np.ndarray:
        """
        How many positions that are not padding all ranks have in each step.
        """
    @property
    def repeated(self, /) -> np.ndarray:
        """
        The sequences that were met before, as often as they were.
        """
    @property
    def second_positions(self, /) -> np.ndarray:
        """
        The same of the second of two lengths; zeros if there is one.
        """
    @property
    def sequences(self, /) -> np.ndarray:
        """
        How many sequences all ranks have in each step.
        """
    @property
    def world_size(self, /) -> int:
        """
        The number of ranks.
        """

@final
class Statistics:
    """
    What the lengths of many shards are like, and what the shards need once that was counted: small,
    and the same bytes in whatever order it is merged.
    """
    def __add__(self, other: object, /) -> Statistics: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, lengths: Any) -> Statistics:
        """
        The statistics of these lengths alone.
        """
    def __radd__(self, other: object, /) -> Statistics:
        """
        `sum` begins with 0.
        """
    def __reduce__(self, /) -> tuple[Any, tuple[bytes]]: ...
    def __repr__(self, /) -> str: ...
    @property
    def digest(self, /) -> str:
        """
        A fingerprint of the lengths, as sixteen hexadecimal digits.
        """
    @property
    def exact(self, /) -> bool:
        """
        Whether every distinct length is counted by itself, and not in a class of lengths.
        """
    @staticmethod
    def from_bytes(given: bytes) -> Statistics:
        """
        The statistics that `to_bytes` gave.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> Statistics:
        """
        Reads a .lws file.
        """
    @property
    def max(self, /) -> int:
        """
        The longest length.
        """
    def merge(self, /, other: Statistics) -> Statistics:
        """
        Both together; no shard may be in both.
        """
    @property
    def min(self, /) -> int:
        """
        The shortest length.
        """
    @property
    def needs(self, /) -> dict[str, Any] | None:
        """
        What the shards need, if it was counted: `settings`, `shards`, `counted`, `batches` that each
        takes, the `least` that one needs, and `added_share`, the share of batches that are there only
        because others need more.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes a .lws file, whole or not at all.
        """
    def to_bytes(self, /) -> bytes:
        """
        As bytes, to send to other nodes: the same for equal statistics.
        """
    @property
    def total(self, /) -> int:
        """
        The sum of all lengths.
        """

@final
class Tuning:
    """
    What tuning found.
    """
    def __repr__(self, /) -> str: ...
    def __str__(self, /) -> str: ...
    @property
    def best(self, /) -> Any:
        """
        What the choice was measured to give.
        """
    @property
    def candidates(self, /) -> Any:
        """
        The best point of every family within the limits.
        """
    @property
    def settings(self, /) -> dict[str, Any]:
        """
        The arguments of `plan` and of samplers that use the choice: `plan(lengths, **tuning.settings)`.
        """
    @property
    def shapes(self, /) -> str:
        """
        The shapes that go with it.
        """
    @property
    def strategy(self, /) -> str:
        """
        The strategy.
        """
    def to_json(self, /) -> str:
        """
        The JSON that `lengthwise tune --json` prints.
        """
    @property
    def within_limits(self, /) -> bool:
        """
        Whether the choice keeps all limits; if not, it comes nearest.
        """

def compare(lengths: Any, strategies: Any | None = None, *, budget: Any = ..., shapes: str = ..., arrange: str = ..., over_long: str = ..., epochs: SupportsIndex = ..., world_size: SupportsIndex = ..., accumulate: SupportsIndex = ..., steps: str | None = None, tail: str = ..., cost_model: Any | None = None, seed: SupportsIndex = ..., source: str = ...) -> Comparison:
    """
    Plans several epochs with every strategy, and measures them.
    """

def effective_mates(plans: SupportsGetItem[int, Plan]) -> float | None:
    """
    From how many candidates the mates of a sequence are in effect drawn over these epochs; `inf` if
    nobody met again, `None` for fewer than two epochs or if no sequence has mates.
    """

def example(name: str = ...) -> np.ndarray:
    """
    Built-in lengths to try things with: "speech", "documents" or "bimodal".
    """

def explain(name: str | None = None) -> str:
    """
    The manual page of a strategy or a kind of setting, in Markdown; without a name, the list of them.
    """

def inspect(lengths: Any, *, budget: Any = ..., source: str = ...) -> Inspection:
    """
    Shows what lengths are like, and what they do to random batches.
    """

def ladder(lengths: Any, rungs: SupportsIndex = ...) -> np.ndarray:
    """
    The batch lengths that pad the least, rising: `rungs` of them, or as many as there are different
    lengths.
    """

def load_plan(path: str | PathLike[str], lengths: Any) -> Plan:
    """
    Reads a plan from a .json, .jsonl or .npz file. The lengths that it was made for must be given
    again; it is refused if they are others.
    """

def read_lengths(path: str | PathLike[str], *, column: str | None = None, format: str | None = None, frame_shift: SupportsFloat | SupportsIndex | None = None, rate: SupportsFloat | SupportsIndex | None = None, unit: str | None = None) -> np.ndarray:
    """
    Reads the lengths in a file: .csv, .tsv, .jsonl, .npy, .txt, Kaldi's `utt2num_frames` or
    `utt2dur`, packed by gzip or zstd or not, or a folder of WAV and FLAC files.
    """

def tune(lengths: Any, *, budget: Any, shapes: str | None = None, max_padding: SupportsFloat | SupportsIndex | None = None, min_mates: SupportsFloat | SupportsIndex | None = None, max_shapes: SupportsIndex | None = None, max_seconds: SupportsFloat | SupportsIndex | None = None, cost_model: Any | None = None, seed: SupportsIndex = ...) -> Tuning:
    """
    Finds the best strategy within limits on padding, company, shapes and time.
    """
