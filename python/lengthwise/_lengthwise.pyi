# Written by stubs.py from the Rust signatures; not edited by hand.

"""
What the package has in Rust.
"""

import numpy as np
from _typeshed import SupportsGetItem, SupportsLenAndGetItem
from os import PathLike
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["__version__", "BalancedStep", "Batches", "Chunks", "Comparison", "CostModel", "Feed", "Fit", "Inspection", "Lengths", "Measures", "Mixing", "Plan", "Planner", "Schedule", "Statistics", "Tuning", "_errors", "balance", "compare", "effective_mates", "example", "explain", "inspect", "ladder", "load_plan", "mixing", "partitions", "plan_file", "read_lengths", "tune"]

__version__: Final[str]
"""
The version of the package, which Cargo.toml has.
"""

@final
class BalancedStep:
    """
    The sequences of one step, divided over ranks and micro-batches. `lengthwise.balance` makes it.
    `step.ranks[rank]`, or `step[rank]`, is the list of that rank's micro-batches: arrays of indices.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getitem__(self, rank: SupportsIndex, /) -> list[np.ndarray]:
        """
        The micro-batches of one rank.
        """
    def __len__(self, /) -> int:
        """
        The number of ranks.
        """
    def __ne__(self, value: object, /) -> bool: ...
    def __reduce__(self, /) -> tuple[Any, tuple[str]]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(json: str) -> BalancedStep: ...
    @property
    def degrees(self, /) -> np.ndarray:
        """
        How many ranks share each micro-batch: one row for each rank, one column for each of its micro-batches. Ranks
        k·s to k·s + s − 1 share a micro-batch of degree s, under the same number.
        """
    @property
    def ends(self, /) -> np.ndarray:
        """
        Where each micro-batch ends in `order`.
        """
    @property
    def idle_share(self, /) -> float:
        """
        The share of the ranks' time that is spent waiting for the slowest one.
        """
    @property
    def loads(self, /) -> np.ndarray:
        """
        The cost of all sequences of each rank: of one that several ranks share, what this rank takes for it.
        """
    @property
    def lower_bound(self, /) -> float:
        """
        No division takes less: the mean over the ranks, or the time of what cannot be divided further.
        """
    @property
    def micro_batches(self, /) -> int:
        """
        How many micro-batches each rank has. Some are empty if there are too few sequences.
        """
    @property
    def order(self, /) -> np.ndarray:
        """
        All sequences, one micro-batch after another: those of the first rank, then those of the second, and so on.
        A micro-batch that several ranks share is there once.
        """
    @property
    def ranks(self, /) -> list[list[np.ndarray]]:
        """
        The list of each rank's micro-batches.
        """
    @property
    def restore(self, /) -> np.ndarray:
        """
        The place of every sequence in `order`: `results[restore]` puts results that come in that order back.
        """
    @property
    def starts(self, /) -> np.ndarray:
        """
        When each micro-batch starts, from the start of the step: one row for each rank, one column for each of its
        micro-batches. Ranks that share a micro-batch start it together, and no rank waits before its last one ends.
        """
    @property
    def time(self, /) -> float:
        """
        How long the slowest rank takes.
        """

@final
class Batches:
    """
    The batches of a plan, one after another.
    """
    def __iter__(self, /) -> Batches: ...
    def __length_hint__(self, /) -> int: ...
    def __next__(self, /) -> Any: ...
    def __reduce__(self, /) -> tuple[Any, tuple[Plan], int]: ...
    def __setstate__(self, /, next: SupportsIndex) -> None: ...

@final
class Chunks:
    """
    Cuts sequences into chunks. To plan the chunks as sequences of their own, use `pieces` as lengths.
    Chunk `i` is a part of sequence `sequences[i]`, and begins at `offsets[i]`.

    Args:
        `lengths`: The length of each sequence, as for `Planner`.
        `size`: The length of a chunk. The last chunk of a sequence may be shorter.
    """
    def __len__(self, /) -> int: ...
    def __new__(cls, /, lengths: Any, size: SupportsIndex) -> Chunks: ...
    def __reduce__(self, /) -> tuple[type, tuple[Lengths, int]]: ...
    def __repr__(self, /) -> str: ...
    @property
    def offsets(self, /) -> np.ndarray:
        """
        Where each chunk begins in its sequence.
        """
    @property
    def pieces(self, /) -> Lengths:
        """
        The lengths of the chunks.
        """
    @property
    def sequences(self, /) -> np.ndarray:
        """
        The sequence that each chunk is a part of.
        """

@final
class Comparison:
    """
    The measures of several strategies on the same lengths. `lengthwise.compare` makes it.
    """
    def __reduce__(self, /) -> tuple[Any, tuple[Lengths, str, str]]: ...
    def __repr__(self, /) -> str: ...
    def _repr_html_(self, /) -> Any: ...
    @staticmethod
    def _restore(lengths: Lengths, settings: str, figures: str) -> Comparison: ...
    @property
    def rows(self, /) -> Any:
        """
        One dictionary for each strategy: means over the epochs, and their standard deviations as `sd`.
        """
    def save_html(self, /, path: str | PathLike[str], *, papers: bool = False) -> None:
        """
        Writes the report to the .html file `path`. An error leaves no partial file. `papers` adds the
        papers' tuning curves.
        """
    @property
    def settings(self, /) -> Any:
        """
        The settings that all strategies share.
        """
    def to_html(self, /, *, papers: bool = False) -> str:
        """
        Returns the report as one HTML page, which needs no network and no other files. `papers` adds
        the papers' tuning curves.
        """
    def to_json(self, /) -> str:
        """
        Returns the JSON that `lengthwise compare --json` prints.
        """

@final
class CostModel:
    """
    How many seconds a training step takes on a batch of B sequences padded to L:
    a + b·L + c·B·L + d·B·L², and at least h, the time to launch it.

    Args:
        `model`: The name of a preset ("recurrent", "encoder" or "paper-2"), coefficients such as
            "a=0.001,c=1e-9", a file that `Fit.save` or `lengthwise cost` wrote, or a `CostModel`.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, model: CostModel | str | PathLike[str]) -> CostModel: ...
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
        Returns how many seconds the epoch of a `plan` takes, with one batch in each step.
        """
    @staticmethod
    def fit(batch_sizes: Any, batch_lengths: Any, seconds: Any, new_shape: SupportsFloat = 0.0) -> Fit:
        """
        Fits a model to measured steps.

        Args:
            `batch_sizes`: The batch size of each step.
            `batch_lengths`: The batch length of each step.
            `seconds`: How long each step took.
            `new_shape`: How many seconds longer a step takes whose shape comes up for the first time. The
                default is 0.
        """
    @property
    def launch(self, /) -> float:
        """
        How many seconds the host takes to launch a batch: no batch takes less.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> CostModel:
        """
        Reads a model from the file `path`, which `Fit.save` or `lengthwise cost` wrote.
        """
    @property
    def new_shape(self, /) -> float:
        """
        How many seconds longer a step takes whose shape comes up for the first time.
        """
    def seconds(self, /, batch_size: SupportsIndex, batch_length: SupportsIndex) -> float:
        """
        Returns how many seconds a step takes on a batch of `batch_size` sequences padded to `batch_length`.
        """

@final
class Feed:
    """
    Plans the batches of a stream from the lengths alone: you push one length after another, and take
    steps. `lengthwise.stream_batches` does both for an iterable of items.

    Args:
        `budget`: The hard limit of a batch: a number of sequences, or a string such as "padded:20000"
            (cells, padding included), "sequences:16" or "cost:encoder,limit=0.05" (seconds).
        `shapes`: Which batch lengths may occur: "exact" (the longest sequence of the batch), "multiple:8"
            (rounded up), "ladder:16" (16 lengths, learned from the first window) or "ladder:100/200/400"
            (these lengths). The default is "exact".
        `window`: How many sequences are held at most. A larger window pads less. The default is 4096.
        `pivot`: Which sequence a step is built around: "oldest" (the one that was held longest) or
            "quantile" (for ranks that each read a stream of their own: all choose the same quantile of
            the lengths). The default is "oldest".
        `over_long`: What happens to a sequence that exceeds the budget alone: "error", "alone" (a batch of
            its own), "drop" or "truncate" (you cut it to the batch length). The default is "error".
        `tail`: What happens at the end of the stream if the last batches do not fill a step: "split"
            (divided among the ranks), "repeat" or "drop". The default is "split".
        `world_size`: The number of ranks that read the stream. The default is 1.
        `seed`: The seed of all random choices, from 0 to 2⁶⁴ − 1. The default is 0.
        `epoch`: The epoch, from 0: each has other random choices. The default is 0.
        `state`: What `state()` of an earlier feed returned, to go on from there. By default, the stream
            begins.
    """
    def __new__(cls, /, budget: str | SupportsIndex, *, shapes: str = "exact", window: SupportsIndex = 4096, pivot: str = "oldest", over_long: str = "error", tail: str = "split", world_size: SupportsIndex = 1, seed: SupportsIndex = 0, epoch: SupportsIndex = 0, state: str | None = None) -> Feed: ...
    def __reduce__(self, /) -> tuple[Any, tuple[dict[str, Any], str, int, list[tuple[int, int, int, int, int]], bool]]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(settings: dict[str, Any], state: str, position: SupportsIndex, held: SupportsGetItem[int, tuple[SupportsIndex, SupportsIndex, SupportsIndex, SupportsIndex, SupportsIndex]], ended: bool) -> Feed: ...
    def end(self, /) -> None:
        """
        Says that the stream has no more sequences.
        """
    @property
    def held(self, /) -> int:
        """
        How many sequences are held.
        """
    def leave_out(self, /) -> None:
        """
        Leaves the next sequence out: it is in no batch, and its length is not needed.
        """
    @property
    def left_out(self, /) -> int:
        """
        How many sequences were left out.
        """
    def needs(self, /) -> bool:
        """
        Whether the next step needs another `push`, or `end` if there are no more sequences.
        """
    @property
    def position(self, /) -> int:
        """
        The position of the next sequence in the stream. After a resume, read the source from there.
        """
    def push(self, /, length: SupportsIndex, sequences: SupportsIndex = 1, kind: SupportsIndex = 0) -> int | None:
        """
        Adds the next sequence, of this `length`. Returns the slot that holds it, a number below the window,
        or `None` if the sequence is left out or was in a batch before the stream was resumed. If several
        `sequences` stay together, `length` is that of the longest, and a slot holds all of them. No batch has two
        values of `kind`, a number from 0 to 2⁶⁴ − 1.
        """
    @property
    def rungs(self, /) -> list[int]:
        """
        The batch lengths of the ladder that was learned from the stream, in ascending order; empty if
        there is none.
        """
    def state(self, /) -> str:
        """
        Returns the state of the stream as one line of JSON, for `Feed(…, state=…)`.
        """
    def step(self, /) -> list[tuple[list[int], list[int], int]] | None:
        """
        Returns the next step: for each rank, the slots and the positions of its batch, and the batch
        length. Returns `None` while another sequence is needed, and at the end.
        """
    @property
    def truncated(self, /) -> int:
        """
        How many over-long sequences were truncated.
        """
    def was_taken(self, /, position: SupportsIndex) -> bool:
        """
        Whether the sequence at this `position` was in a batch, or left out, before the stream was resumed: its length
        is not asked for again.
        """
    @property
    def world_size(self, /) -> int:
        """
        The number of ranks.
        """

@final
class Fit:
    """
    A cost model, and how well it fits the measured steps. `CostModel.fit` makes it.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __reduce__(self, /) -> tuple[Any, tuple[list[int], list[int], list[float], float]]: ...
    def __repr__(self, /) -> str: ...
    @property
    def mean_relative_error(self, /) -> float:
        """
        The mean of the absolute relative errors.
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
        Writes the model to the .json file `path`, which `CostModel.load` and the command line read.
        """
    @property
    def worst(self, /) -> int:
        """
        The index of the measured step with the largest relative error.
        """
    @property
    def worst_relative_error(self, /) -> float:
        """
        The relative error of that step: predicted ÷ measured − 1.
        """

@final
class Inspection:
    """
    A description of lengths. `lengthwise.inspect` makes it.
    """
    def __reduce__(self, /) -> tuple[Any, tuple[Lengths, str, str | None, str, str]]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(lengths: Any, budget: str | SupportsIndex, like: str | SupportsIndex | None, model: CostModel | str | PathLike[str], source: str) -> Inspection: ...
    def asdict(self, /) -> Any:
        """
        Returns all figures by name, as in the JSON of `lengthwise inspect --json`.
        """
    def to_json(self, /) -> str:
        """
        Returns the JSON that `lengthwise inspect --json` prints.
        """
    @property
    def warnings(self, /) -> list[str]:
        """
        Warnings, such as outliers or many equal lengths.
        """

@final
class Lengths:
    """
    The lengths of all sequences, checked once. Every function that takes lengths takes this object too,
    and does not check it again.

    Args:
        `lengths`: The length of each sequence: a list, an array, a tensor, or a column of a table or of a
            dataset. Lengths are whole numbers from 1 to 4294967295.
        `second`: A second length for each sequence, such as the length of its target. By default,
            sequences have one length.
        `together`: An id for each sequence, as for `Planner`. By default, sequences are independent.
        `kind`: Another id for each sequence, as for `Planner`. By default, sequences have no kinds.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __len__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, lengths: Any, second: Any | None = None, *, together: Any | None = None, kind: Any | None = None) -> Lengths: ...
    def __reduce__(self, /) -> tuple[Any, tuple[np.ndarray, Lengths | None, Statistics | None, list[int] | None, tuple[list[int], list[str]] | None, bool]]: ...
    def __repr__(self, /) -> str: ...
    def _items_in(self, /, batch: Any) -> np.ndarray: ...
    @staticmethod
    def _restore(lengths: Any, second: Any | None, statistics: Statistics | None, groups: SupportsGetItem[int, SupportsIndex] | None, kinds: tuple[SupportsGetItem[int, SupportsIndex], SupportsGetItem[int, str]] | None, of_items: bool) -> Lengths: ...
    @property
    def digest(self, /) -> str:
        """
        A fingerprint of the lengths in their order: sixteen hexadecimal digits.
        """
    @property
    def groups(self, /) -> np.ndarray | None:
        """
        The number of the group of each sequence, if sequences stay together or have kinds.
        """
    @property
    def items(self, /) -> int | None:
        """
        How many items there are, if these are the lengths of items that hold several sequences.
        """
    @property
    def kinds(self, /) -> list[str] | None:
        """
        The names of the kinds, in the order in which they first appear, if sequences have kinds.
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
        Returns a copy as an array.
        """
    @staticmethod
    def of_items(lengths: Any, *, kind: Any | None = None) -> Lengths:
        """
        Returns the lengths of items that hold several sequences each, such as preference pairs. The sequences of an item
        stay together, and `lengthwise.torch.BatchSampler` returns the indices of items.

        Args:
            `lengths`: A list of lengths for each item, as in `[[12, 9], [30, 22]]`.
            `kind`: An id for each item, as for `Planner`. By default, items have no kinds.
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
    The measures of one plan. `Plan.measure` makes them.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __reduce__(self, /) -> tuple[Any, tuple[dict[str, Any], list[tuple[int, float]] | None]]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(numbers: Any, sides: SupportsLenAndGetItem[tuple[SupportsIndex, SupportsFloat | SupportsIndex]] | None) -> Measures: ...
    def asdict(self, /) -> dict[str, Any]:
        """
        Returns all measures by name.
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
        The padding rate of the first of two lengths; `None` if sequences have one length. All other
        measures are of both lengths together.
        """
    @property
    def lag1_correlation(self, /) -> float:
        """
        The correlation of the lengths of successive batches.
        """
    @property
    def largest_batch(self, /) -> int:
        """
        The number of sequences in the largest batch.
        """
    @property
    def largest_batch_cells(self, /) -> int:
        """
        The number of cells in the largest batch, which must fit in memory.
        """
    @property
    def mean_batch_length(self, /) -> float:
        """
        The mean of the batch lengths, weighted by batch size.
        """
    @property
    def mean_batch_padding_rate(self, /) -> float:
        """
        The mean of the padding rates of the batches, weighted by batch size.
        """
    @property
    def padding_rate(self, /) -> float:
        """
        The padding rate: padding ÷ all cells, over the whole plan.
        """
    @property
    def second_padding_rate(self, /) -> float | None:
        """
        The padding rate of the second of two lengths; `None` if sequences have one length.
        """
    @property
    def sequences(self, /) -> int:
        """
        The number of sequences in all batches.
        """
    @property
    def shapes(self, /) -> int:
        """
        How many different pairs of batch size and batch length there are.
        """
    @property
    def steps(self, /) -> int:
        """
        Sequential steps: the sum of the batch lengths, which a recurrent network computes one by one.
        """

@final
class Mixing:
    """
    How freely batch-mates change between epochs, as a share of random shuffling. `mixing` makes it.

    1 is random shuffling, near 0 is the same batches in every epoch. `explain("mixing")` says how it is
    counted.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __reduce__(self, /) -> tuple[Any, tuple[list[float]]]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(numbers: SupportsLenAndGetItem[SupportsFloat | SupportsIndex]) -> Mixing: ...
    @property
    def effective_mates(self, /) -> float:
        """
        The size of the pool that batch-mates are effectively drawn from.
        """
    @property
    def per_pair(self, /) -> float:
        """
        The mixing if every pair of batch-mates counts the same, from 0 to 1.
        """
    @property
    def per_pair_error(self, /) -> float:
        """
        The standard error of `per_pair`.
        """
    @property
    def per_sequence(self, /) -> float:
        """
        The mixing if every sequence counts the same, however large its batches are, from 0 to 1.
        """
    @property
    def per_sequence_error(self, /) -> float:
        """
        The standard error of `per_sequence`.
        """
    @property
    def repeat_rate(self, /) -> float:
        """
        The probability that two sequences that share a batch share one again in another epoch.
        """

@final
class Plan:
    """
    All batches of one epoch, in order: a sequence of arrays of indices. `lengthwise.plan` and
    `Planner.plan` make it.
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
    def _restore(file: bytes | bytearray, lengths: Any) -> Plan: ...
    @property
    def batch_lengths(self, /) -> np.ndarray:
        """
        The length that each batch is padded to.
        """
    @property
    def batch_sizes(self, /) -> np.ndarray:
        """
        How many sequences each batch has.
        """
    def count(self, /, batch: Any) -> int:
        """
        Returns how many batches have exactly the indices of `batch`.
        """
    @property
    def digest(self, /) -> str:
        """
        A fingerprint of the batches, as the command line prints it. It is the same on every machine.
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
        Returns the batches of one `rank` of `world_size` ranks. Every rank has the same number of batches.
        """
    def index(self, /, batch: Any) -> int:
        """
        Returns the number of the first batch that has exactly the indices of `batch`.
        """
    @property
    def indices(self, /) -> np.ndarray:
        """
        The indices of the sequences of all batches, one batch after another.
        """
    @property
    def left_out(self, /) -> np.ndarray:
        """
        The sequences that are in no batch, because `over_long` is "drop".
        """
    @property
    def lengths(self, /) -> np.ndarray:
        """
        The lengths of all sequences, without padding.
        """
    def measure(self, /) -> Measures:
        """
        Measures the plan: padding, cells, shapes and more.
        """
    @property
    def over_long(self, /) -> np.ndarray:
        """
        The sequences that exceed the budget even alone.
        """
    @property
    def packed(self, /) -> bool:
        """
        Whether a batch is one row that holds its sequences one after another.
        """
    @property
    def positions(self, /) -> np.ndarray:
        """
        How many positions of each batch are not padding: divide the loss by this for a mean.
        """
    def resume(self, /, cursor: str, world_size: SupportsIndex) -> Schedule:
        """
        Assigns the rest of the epoch after a `cursor` (see `Schedule.cursor`) to `world_size` ranks, which
        may be another number of ranks than before.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the plan to the .json, .jsonl, .npz or .parquet file `path`. An error leaves no partial file.
        """
    def schedule(self, /, world_size: SupportsIndex) -> Schedule:
        """
        Assigns the batches to `world_size` ranks, step by step.
        """
    @property
    def second_batch_lengths(self, /) -> np.ndarray | None:
        """
        The length that the second side of each batch is padded to; `None` if sequences have one length.
        """
    @property
    def second_lengths(self, /) -> np.ndarray | None:
        """
        The second lengths of all sequences; `None` if sequences have one length.
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
        The settings that the plan was made with, by name.
        """
    def tolist(self, /) -> list[Any]:
        """
        Returns the batches as lists of integers.
        """
    @property
    def truncated(self, /) -> np.ndarray:
        """
        The sequences that you must cut to their batch length, because `over_long` is "truncate".
        """

@final
class Planner:
    """
    Plans epoch after epoch. The same lengths, settings, seed and epoch give the same plan on every
    machine.

    Strings such as "padded:20000" have the form that the command line uses. `lengthwise.explain()`
    lists the pages that describe them.

    A planner keeps up to 24 bytes per sequence of memory, so that later epochs are planned faster.

    Args:
        `lengths`: The length of each sequence: a list, an array, a tensor, a column of a table or of a
            dataset, or `Lengths`.
        `strategy`: How sequences are grouped into batches, such as "shuffled", "blurred:blur=0.02" or
            "packed:capacity=4096". By default, it is what `tune` recommends: usually "proportional", with
            several micro-batches per optimizer step. It is "shuffled" for shards.
        `second`: A second length for each sequence, such as the length of its target. By default,
            sequences have one length.
        `together`: An id for each sequence: those with the same id stay in one batch or packed row, and those with
            `None` are independent. Examples are preference pairs and the turns of a dialogue. By default, all sequences
            are independent.
        `share`: What sequences with the same id share: "batch", or "rank" if they may be in different batches
            of one rank in one optimizer step, for the strategies "proportional" and "packed". The default is "batch".
        `kind`: Another id for each sequence, such as its language: a batch has sequences of one kind only. By default,
            all kinds mix.
        `one_kind`: What has sequences of one kind only: every "batch", or every "step" of all ranks too. The default
            is "batch".
        `mix`: How much of every kind an epoch has: a dict of kinds and weights, such as `{"en": 0.7, "de": 0.3}`. An epoch
            has as many sequences, or groups, as before; a kind with more than it has is repeated, and of one with less
            every epoch has others. By default, every sequence occurs once.
        `budget`: The hard limit of a batch: a number of sequences, or a string such as "padded:20000"
            (cells, padding included), "sequences:16", "dynamic:16" or "cost:encoder,limit=0.05"
            (seconds). It has no default, except that the capacity of "packed:capacity=4096" is a budget, and
            that `like` makes one.
        `shapes`: Which batch lengths may occur: "exact" (the longest sequence of the batch), "multiple:8"
            (rounded up), "ladder:16" (the 16 lengths that pad the least) or "ladder:100/200/400" (these
            lengths). By default, it is what `tune` recommends, and "exact" if you give a strategy.
        `arrange`: The order of the batches in the epoch: "spread" (random, with short and long batches in
            proportion in every part of the epoch; every sequence is at every place equally often),
            "shuffled", "short-first", "long-first" or "as-built". The default is "spread".
        `over_long`: What happens to a sequence that exceeds the budget alone: "error", "alone" (a batch of
            its own), "drop" or "truncate" (you cut it to the batch length). The default is "error".
        `steps`: Which batches the ranks process in the same step: "stratified" (each step is a sample of
            all lengths), "aligned" (batches that take about the same time) or "in-order". By default, the
            arrangement and the budget decide.
        `tail`: What happens to the last batches if they do not fill a step: "split" (divided among the
            ranks), "repeat" (the step is filled with batches that were used before) or "drop". The default
            is "split".
        `cost_model`: How long a batch takes: a `CostModel`, the name of a preset ("recurrent", "encoder"
            or "paper-2"), coefficients such as "a=0.001,c=1e-9", or a file that `CostModel.load` reads.
            By default, it is the model of a "cost" budget. Without one, time is proportional to cells, or
            to the batch length if steps are "aligned".
        `accumulate`: Gradient-accumulation steps per rank: how many batches each rank processes for one
            optimizer step. By default, it is what `tune` recommends, and 1 if you give a strategy.
        `canonical_ranks`: How many batches one optimizer step has over all ranks, for every world size that
            divides this number: training then takes the same steps on 1 rank as on 8. It replaces
            `accumulate`. By default, a step has `accumulate` batches for each rank.
        `update`: How much data one optimizer step has over all ranks, such as "tokens:100000" or
            "sequences:256". It decides how many batches each rank processes for one optimizer step, and
            replaces `accumulate`. On several ranks, also give `canonical_ranks`. By default, a step has
            `accumulate` batches for each rank.
        `like`: The batch size that you train with today, such as 32: the budget of equal memory. With
            "32,keep=steps", an epoch also keeps its number of optimizer steps. By default, `budget` decides.
        `model`: The model that you train, for the recommendation: "attention", "recurrent", "packed" (it
            takes several sequences in one row), or how long its steps take, as for `cost_model`. The default
            is "attention".
        `constant_steps`: Whether every epoch has the same number of steps, for trainers that ask for it
            only once. The default is false.
        `seed`: The seed of all random choices, from 0 to 2⁶⁴ − 1. The default is 0.
        `statistics`: The `Statistics` of all shards, if `lengths` are one shard of a larger dataset. By
            default, `lengths` are all there is.
        `shard`: The number of this shard, from 0. Give it together with `shards`; by default, there is
            one shard.
        `shards`: The number of shards. By default, there is one.
    """
    def __new__(cls, /, lengths: Any, strategy: str | None = None, *, second: Any | None = None, together: Any | None = None, share: str = "batch", kind: Any | None = None, one_kind: str = "batch", mix: Any | None = None, budget: str | SupportsIndex | None = None, shapes: str | None = None, arrange: str = "spread", over_long: str = "error", steps: str | None = None, tail: str = "split", cost_model: CostModel | str | PathLike[str] | None = None, accumulate: SupportsIndex | None = None, canonical_ranks: SupportsIndex | None = None, update: str | None = None, like: str | SupportsIndex | None = None, model: CostModel | str | PathLike[str] | None = None, constant_steps: bool = False, seed: SupportsIndex = 0, statistics: Statistics | None = None, shard: SupportsIndex | None = None, shards: SupportsIndex | None = None) -> Planner: ...
    def __reduce__(self, /) -> tuple[Any, tuple[Lengths, str]]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(lengths: Lengths, settings: str) -> Planner: ...
    @property
    def lengths(self, /) -> Lengths:
        """
        The lengths.
        """
    def needs(self, /) -> Statistics:
        """
        Returns what this shard needs. Merge the needs of all shards into the statistics: they then say
        how many batches every shard processes.
        """
    def plan(self, /, epoch: SupportsIndex = 0) -> Plan:
        """
        Returns the plan of one epoch. `epoch` is a number from 0, which is also the default.
        """
    @property
    def rungs(self, /) -> list[int] | None:
        """
        The batch lengths of the ladder in ascending order; `None` if the shapes are not a ladder.
        """

@final
class Schedule:
    """
    The batches of an epoch assigned to ranks, step by step. `Plan.schedule` makes it.
    """
    def __len__(self, /) -> int:
        """
        The number of steps, the same on every rank.
        """
    def __reduce__(self, /) -> tuple[Any, tuple[Plan, int, str | None]]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(plan: Plan, world_size: SupportsIndex, cursor: str | None) -> Schedule: ...
    @property
    def accumulate(self, /) -> int:
        """
        Gradient-accumulation steps per rank: how many batches each rank processes in a step.
        """
    def all_ranks(self, /) -> Plan:
        """
        Returns the batches of all ranks: first those of the first step, rank after rank, then those of the
        second step, and so on.
        """
    def cursor(self, /, steps: SupportsIndex) -> str:
        """
        Returns a cursor, for `Plan.resume`, after every rank has processed this many `steps`. It is one
        short line of JSON, the same on every rank.
        """
    @property
    def dropped(self, /) -> np.ndarray:
        """
        The sequences that are in no step, because the tail is dropped.
        """
    def for_rank(self, /, rank: SupportsIndex) -> Plan:
        """
        Returns the batches of one `rank`, step by step.
        """
    @property
    def idle_bound(self, /) -> float:
        """
        A lower bound of the idle share, for any way to assign these batches to as many ranks.
        """
    @property
    def idle_share(self, /) -> float:
        """
        The share of the ranks' time that they spend waiting for the slowest rank of each step.
        """
    @property
    def positions(self, /) -> np.ndarray:
        """
        How many positions that are not padding all ranks have in each step.
        """
    @property
    def repeated(self, /) -> np.ndarray:
        """
        The sequences that occur more than once, as often as they are repeated.
        """
    @property
    def second_positions(self, /) -> np.ndarray:
        """
        How many positions of second lengths that are not padding all ranks have in each step; zeros if
        sequences have one length.
        """
    @property
    def sequences(self, /) -> np.ndarray:
        """
        How many sequences all ranks have in each step.
        """
    @property
    def step_mix(self, /) -> float:
        """
        How much the lengths of optimizer steps vary, compared with random steps of as many sequences: 1 is
        as random, 0 means that all steps are alike, and above 1 steps are biased.
        """
    @property
    def world_size(self, /) -> int:
        """
        The number of ranks.
        """

@final
class Statistics:
    """
    Summary statistics of lengths, for datasets whose shards are planned by different nodes: small, and
    the same bytes in whatever order shards are merged. Once it was counted, they also say how many
    batches each shard processes.

    Args:
        `lengths`: The length of each sequence of one shard, as for `Planner`.
    """
    def __add__(self, other: object, /) -> Statistics: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __len__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
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
        A fingerprint of the lengths: sixteen hexadecimal digits.
        """
    @property
    def exact(self, /) -> bool:
        """
        Whether each distinct length has a count of its own, instead of sharing one with similar lengths.
        """
    @staticmethod
    def from_bytes(given: bytes) -> Statistics:
        """
        Returns the statistics whose `to_bytes` returned `given`.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> Statistics:
        """
        Reads the .lws file `path`.
        """
    @property
    def max(self, /) -> int:
        """
        The longest length.
        """
    def merge(self, /, other: Statistics) -> Statistics:
        """
        Returns the statistics of these shards and those of `other` together. No shard may be in both.
        """
    @property
    def min(self, /) -> int:
        """
        The shortest length.
        """
    @property
    def needs(self, /) -> dict[str, Any] | None:
        """
        What the shards need, if it was counted: the `settings`, the number of `shards`, how many of them
        were `counted`, the `batches` that each processes, the `least` that one needs, and `added_share`,
        the share of batches that exist only because other shards need more.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the .lws file `path`. An error leaves no partial file.
        """
    def to_bytes(self, /) -> bytes:
        """
        Returns bytes that you can send to other nodes. Equal statistics have equal bytes.
        """
    @property
    def total(self, /) -> int:
        """
        The sum of all lengths.
        """

@final
class Tuning:
    """
    What is recommended, and what else there is to choose from. `lengthwise.tune` makes it.
    """
    def __reduce__(self, /) -> tuple[Any, tuple[str, str]]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(json: str, settings: str) -> Tuning: ...
    @property
    def best(self, /) -> Any:
        """
        The measures of the choice.
        """
    @property
    def candidates(self, /) -> Any:
        """
        Every way that was measured, the best first. Those that break a limit come last.
        """
    @property
    def recommended(self, /) -> Any:
        """
        What is recommended, with the reason and the lines that use it, as in the JSON of `lengthwise tune
        --json`; `None` if nothing keeps the limits.
        """
    @property
    def settings(self, /) -> dict[str, Any]:
        """
        The choice as arguments of `plan` and of samplers: `plan(lengths, **tuning.settings)`.
        """
    @property
    def shapes(self, /) -> str:
        """
        The shapes to use with the strategy.
        """
    @property
    def strategy(self, /) -> str:
        """
        The strategy.
        """
    def to_json(self, /) -> str:
        """
        Returns the JSON that `lengthwise tune --json` prints.
        """
    @property
    def within_limits(self, /) -> bool:
        """
        Whether the choice is within all limits. If not, it is the one that comes closest.
        """

def _errors() -> list[Any]:
    """
    An example of every error of planning, as Python gets it: for tests.
    """

def balance(lengths: Any, ranks: SupportsIndex, *, capacity: SupportsIndex | None = None, cost: CostModel | str | PathLike[str] | None = None, together: Any | None = None, share: str = "batch", kind: Any | None = None, min_micro_batches: SupportsIndex = 1, max_micro_batches: SupportsIndex | None = None, speeds: Any | None = None, split: Any | None = None, communication: SupportsFloat | SupportsIndex | None = None) -> BalancedStep:
    """
    Divides the sequences of one step over ranks and micro-batches: the same number of micro-batches on every
    rank, none over the capacity, the fewest that fit, and about the same work for every rank.

    Args:
        `lengths`: The length of each sequence, as for `Planner`. Here a length can be 0.
        `ranks`: The number of ranks.
        `capacity`: The most positions of a micro-batch, a hard limit. By default, each rank has one micro-batch
            of any size.
        `cost`: How long a sequence takes, as `cost_model` for `Planner`; of its terms, `c` and `d` count. An
            example is "attention:hidden=4096,layers=32". By default, the time is the length.
        `together`: An id for each sequence: those with the same id stay in one micro-batch, and those with `None` are
            independent. By default, all sequences are independent.
        `share`: What sequences with the same id share: "batch", or "rank" if they may be in different
            micro-batches of one rank. The default is "batch".
        `kind`: Another id for each sequence: a micro-batch has sequences of one kind only. By default, all kinds
            mix.
        `min_micro_batches`: The fewest micro-batches of a rank. The default is 1.
        `max_micro_batches`: The most micro-batches of a rank: an error if more are needed. By default, there is no
            limit.
        `speeds`: How fast each rank is: one of speed 2 gets twice the work of one of speed 1. By default, all are
            equally fast.
        `split`: Over how many ranks a sequence may be split, as in `[1, 2, 4, 8]`: one of these is chosen for each
            sequence, to make the step short. Each must divide the next one, and the last one `ranks`. Not with
            `together` or `speeds`. By default, no ranks share a sequence.
        `communication`: What ranks that share a sequence take for each position that they receive from others, in the
            unit of `cost`: a sequence of length L and cost C takes C/s + communication·L·(s − 1)/s on each of s
            ranks. The default is 0.
    """

def compare(lengths: Any, strategies: Any | None = None, *, budget: str | SupportsIndex | None = None, like: str | SupportsIndex | None = None, model: CostModel | str | PathLike[str] | None = None, shapes: str | None = None, arrange: str = "spread", over_long: str = "error", epochs: SupportsIndex = 5, world_size: SupportsIndex = 1, accumulate: SupportsIndex | None = None, update: str | None = None, steps: str | None = None, tail: str = "split", cost_model: CostModel | str | PathLike[str] | None = None, seed: SupportsIndex = 0, source: str = "lengths") -> Comparison:
    """
    Compares strategies: plans several epochs with each of them, and measures the plans.

    Args:
        `lengths`: The length of each sequence, as for `Planner`.
        `strategies`: One strategy or a list of them, such as "blurred:blur=0.02". By default, all
            strategies that pad are compared.
        `budget`: The hard limit of a batch, as for `Planner`. The default is "sequences:16".
        `like`: The batch size that you train with today, as for `Planner`. By default, `budget` decides.
        `model`: The model that you train, for the recommendation, as for `Planner`. The default is
            "attention".
        `shapes`: Which batch lengths may occur, as for `Planner`. The default is "exact"; the recommendation
            has shapes of its own.
        `arrange`: The order of the batches, as for `Planner`. The default is "spread".
        `over_long`: What happens to a sequence that exceeds the budget alone, as for `Planner`. The default
            is "error".
        `epochs`: How many epochs are planned. Figures are means over these. The default is 5.
        `world_size`: The number of ranks. The default is 1.
        `accumulate`: Gradient-accumulation steps per rank. The default is 1; the recommendation has its own
            number.
        `update`: How much data one optimizer step has over all ranks, such as "tokens:100000". It replaces
            `accumulate`. By default, a step has `accumulate` batches for each rank.
        `steps`: Which batches the ranks process in the same step, as for `Planner`. By default, the
            arrangement and the budget decide.
        `tail`: What happens to the last batches if they do not fill a step, as for `Planner`. The default
            is "split".
        `cost_model`: How long a batch takes, as for `Planner`. With a cost model, the comparison has the
            predicted seconds of an epoch. By default, there is none.
        `seed`: The seed of all random choices. The default is 0.
        `source`: What the report calls the lengths. The default is "lengths".
    """

def effective_mates(plans: SupportsGetItem[int, Plan]) -> float | None:
    """
    Returns the size of the pool that batch-mates are effectively drawn from over several epochs: at most the
    number of other sequences.

    Returns `None` for fewer than two epochs, or if every batch has one sequence.

    Args:
        `plans`: Plans of the same lengths for different epochs.
    """

def example(name: str = "speech") -> np.ndarray:
    """
    Returns built-in lengths to try things with.

    Args:
        `name`: "speech" (10,480 sentences in frames), "documents" (6,000 web documents in tokens) or
            "bimodal" (8,000 recordings in frames). The default is "speech".
    """

def explain(name: str | None = None) -> str:
    """
    Returns a page of the manual in Markdown.

    Args:
        `name`: A strategy such as "blurred", or a kind of setting such as "budget" or "shapes". By default,
            you get the list of all pages.
    """

def inspect(lengths: Any, *, budget: str | SupportsIndex | None = None, like: str | SupportsIndex | None = None, model: CostModel | str | PathLike[str] | None = None, source: str = "lengths") -> Inspection:
    """
    Describes lengths: their distribution, outliers, how much random batches of them are padded, and what is
    recommended.

    Args:
        `lengths`: The length of each sequence, as for `Planner`.
        `budget`: The hard limit of a batch, as for `Planner`. The default is "sequences:16".
        `like`: The batch size that you train with today, as for `Planner`. By default, `budget` decides.
        `model`: The model that you train, for the recommendation, as for `Planner`. The default is
            "attention".
        `source`: What the output calls the lengths. The default is "lengths".
    """

def ladder(lengths: Any, rungs: SupportsIndex = 8) -> np.ndarray:
    """
    Returns the batch lengths that pad the least, in ascending order.

    Args:
        `lengths`: The length of each sequence, as for `Planner`.
        `rungs`: How many batch lengths. If there are fewer different lengths, you get these. The default
            is 8.
    """

def load_plan(path: str | PathLike[str], lengths: Any) -> Plan:
    """
    Reads a plan from a file.

    Args:
        `path`: A .json, .jsonl, .npz or .parquet file that `Plan.save` or the command line wrote.
        `lengths`: The lengths that the plan was made for, in the same order. Others raise an error.
    """

def mixing(plans: SupportsGetItem[int, Plan]) -> Mixing | None:
    """
    Returns how freely batch-mates change between the epochs of several plans, as a share of random
    shuffling.

    Returns `None` for fewer than two epochs, or if every batch has one sequence. Of `rotating`, take
    epochs of different cycles; `compare` does so.

    Args:
        `plans`: Plans of the same lengths for different epochs.
    """

def partitions(costs: Any, parts: SupportsIndex, *, equal_size: bool = False) -> list[list[int]]:
    """
    Divides costs into parts of about the same sum. Returns the indices of each part, in ascending order.

    Args:
        `costs`: The cost of each item: numbers from 0.
        `parts`: How many parts.
        `equal_size`: Whether all parts have the same number of items, or numbers that differ by one if that cannot
            be. The default is `False`.
    """

def plan_file(path: str | PathLike[str], output: str | PathLike[str], strategy: str | None = None, *, memory: str, budget: str | SupportsIndex | None = None, shapes: str | None = None, arrange: str = "spread", over_long: str = "error", cost_model: CostModel | str | PathLike[str] | None = None, like: str | SupportsIndex | None = None, seed: SupportsIndex = 0, epoch: SupportsIndex = 0, column: str | None = None, format: str | None = None, frame_shift: SupportsFloat | SupportsIndex | None = None, rate: SupportsFloat | SupportsIndex | None = None, unit: str | None = None) -> Measures:
    """
    Plans the batches of one epoch within a bound on memory, from a file of lengths to a plan file. Returns the measures
    of the plan.

    If you give a strategy, the file is the same, to the byte, as `plan` and `save` make with the same settings. Without one,
    `plan` uses the strategy that is recommended, and this function does not. Of a plan that cannot keep the bound, the
    error says how much it needs. An error or Ctrl-C leaves no partial file.

    Args:
        `path`: The file of lengths, as for `read_lengths`. A .npy file of type `uint32` is read in place, and must not
            change meanwhile; anything else goes through a temporary file.
        `output`: The .npz, .json, .jsonl or .parquet file for the plan, which `load_plan` and the command line read.
        `strategy`: How sequences are grouped into batches, as for `Planner`. "shuffled", "sorted", "semi-sorted",
            "blurred" and buckets of lengths take the least memory. The default is "shuffled", or "blurred" if `shapes` is given
            and is not a ladder.
        `memory`: The most memory that planning takes, such as "500MB" or "8GiB".
        `budget`: The hard limit of a batch, as for `Planner`. It has no default, except that `like` makes one.
        `shapes`: Which batch lengths may occur, as for `Planner`. The default is "exact" if you give a strategy, and
            else a ladder.
        `arrange`: The order of the batches in the epoch, as for `Planner`. The default is "spread".
        `over_long`: What happens to a sequence that exceeds the budget alone, as for `Planner`. The default is "error".
        `cost_model`: How long a batch takes, as for `Planner`. By default, it is the model of a "cost" budget.
        `like`: The batch size that you train with today, as for `Planner`, but without "keep=steps". By default, `budget`
            decides.
        `seed`: The seed of all random choices, from 0 to 2⁶⁴ − 1. The default is 0.
        `epoch`: The epoch, from 0. The default is 0.
        `column`: The column or field that has the lengths, as for `read_lengths`. By default, it is found by its usual
            names.
        `format`: The format of the file, as for `read_lengths`. By default, the name of the file decides.
        `frame_shift`: Seconds per frame, if the file has seconds. By default, the numbers are lengths.
        `rate`: Frames or samples per second, if the file has seconds. By default, the numbers are lengths.
        `unit`: What is counted if the column holds texts, as for `read_lengths`. By default, the column holds numbers.
    """

def read_lengths(path: str | PathLike[str], *, column: str | None = None, format: str | None = None, frame_shift: SupportsFloat | SupportsIndex | None = None, rate: SupportsFloat | SupportsIndex | None = None, unit: str | None = None) -> np.ndarray:
    """
    Reads lengths from a file or a folder.

    Args:
        `path`: A .csv, .tsv, .jsonl, .npy or .txt file, Kaldi's `utt2num_frames` or `utt2dur`, any of
            these compressed with gzip or zstd, a .parquet file, or a folder of WAV and FLAC files.
        `column`: The column or field that has the lengths. By default, it is found by its usual names.
        `format`: The format of the file: "csv", "tsv", "jsonl", "txt", "npy", "parquet", "`utt2num_frames`"
            or "utt2dur". By default, the name of the file decides.
        `frame_shift`: Seconds per frame, if the file has seconds. Do not combine it with `rate`. By default,
            the numbers are lengths.
        `rate`: Frames or samples per second, if the file has seconds. By default, the numbers are lengths.
        `unit`: What is counted if the column holds texts: "words", "characters" or "bytes". By default, the
            column holds numbers; one of JSON lines or of a .parquet file may also hold texts or lists, whose
            characters or elements are counted.
    """

def tune(lengths: Any, *, budget: str | SupportsIndex | None = None, like: str | SupportsIndex | None = None, model: CostModel | str | PathLike[str] | None = None, shapes: str | None = None, arrange: str = "spread", over_long: str = "error", world_size: SupportsIndex = 1, accumulate: SupportsIndex | None = None, update: str | None = None, max_padding: SupportsFloat | SupportsIndex | None = None, min_mixing: SupportsFloat | SupportsIndex | None = None, min_mates: SupportsFloat | SupportsIndex | None = None, max_shapes: SupportsIndex | None = None, max_step_mix: SupportsFloat | SupportsIndex | None = None, min_optimizer_steps: SupportsIndex | None = None, max_optimizer_steps: SupportsIndex | None = None, max_seconds: SupportsFloat | SupportsIndex | None = None, cost_model: CostModel | str | PathLike[str] | None = None, seed: SupportsIndex = 0) -> Tuning:
    """
    Recommends how to batch: the fastest way that keeps the limits. `Planner`, `plan` and samplers use what
    it recommends if you give them no strategy.

    Args:
        `lengths`: The length of each sequence, as for `Planner`.
        `budget`: The hard limit of a batch, as for `Planner`. The default is "sequences:16".
        `like`: The batch size that you train with today, such as 32: the budget of equal memory. With
            "32,keep=steps", an epoch also keeps its number of optimizer steps. By default, `budget` decides.
        `model`: The model that you train: "attention", "recurrent", "packed" (it takes several sequences in
            one row), or how long its steps take, as for `cost_model`. The default is "attention".
        `shapes`: Which batch lengths may occur, as for `Planner`. By default, they are recommended too.
        `arrange`: The order of the batches, as for `Planner`. The default is "spread".
        `over_long`: What happens to a sequence that exceeds the budget alone, as for `Planner`. The default
            is "error".
        `world_size`: The number of ranks. The default is 1.
        `accumulate`: Micro-batches per rank and optimizer step, if your training loop decides them: 1 if it
            updates after every batch. By default, they are recommended too.
        `update`: How much data one optimizer step has over all ranks, as for `Planner`. By default, it has as
            much as a full batch of every rank.
        `max_padding`: The highest padding rate, above 0 and below 1, such as 0.05. By default, there is no
            limit.
        `min_mixing`: The lowest mixing, from 0 to 1: how freely batch-mates change between epochs, where 1 is
            random shuffling. By default, it is 0.05.
        `min_mates`: The fewest effective mates: the smallest pool that batch-mates may be drawn from. By
            default, there is no limit.
        `max_shapes`: The most different shapes (pairs of batch size and batch length). By default, there is
            no limit.
        `max_step_mix`: The highest step mix: how much optimizer steps differ in length, where 1 is as random
            steps. By default, it is 1.
        `min_optimizer_steps`: The fewest optimizer steps of an epoch. By default, there is no limit.
        `max_optimizer_steps`: The most optimizer steps of an epoch. By default, there is no limit.
        `max_seconds`: The most seconds for an epoch. It needs a cost model. By default, there is no limit.
        `cost_model`: How long a batch takes, as for `Planner`. By default, `model` decides.
        `seed`: The seed of all random choices. The default is 0.
    """
