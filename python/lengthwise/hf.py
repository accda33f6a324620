"""Planned batches in the Hugging Face ``Trainer``.

>>> class PlannedTrainer(TrainerMixin, Trainer):
...     pass
>>> trainer = PlannedTrainer(..., batches={"budget": "padded:20000"})  # doctest: +SKIP
"""

from __future__ import annotations

import inspect
import logging
import math
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint, seed_worker

from . import Lengths, LengthsError, LengthwiseWarning, SettingError, StateError
from ._columns import COLUMNS, lengths_of
from ._hf_batches import (
    STATE_NAME, EpochBatches, EvaluationBatches, Gathering, Resumption, read_state, write_state,
)  # fmt: skip
from ._hf_collate import copied, pads, planned_collate
from ._hf_rows import as_rows, has_rows
from ._hf_stream import StreamedEvaluation, StreamLoader, check_whole, is_stream, length_in, samples
from ._torch_predict import evaluated
from ._torch_sampler import makes_steps
from .torch import BatchSampler, StreamBatches, _Planned

if TYPE_CHECKING:
    from ._settings import TrainerSettings

__all__ = ["TrainerMixin", "as_rows", "lengths_of"]

log = logging.getLogger("lengthwise")

#: Settings that are about the sequences of the training set, or about its optimizer steps.
TRAINING_ONLY = ("length", "window", "pivot", "lengths", "second", "together", "kind", "mix", "accumulate", "canonical_ranks", "update", "model", "statistics", "shard", "shards")

#: Settings that a stream cannot have, and what to give instead.
STREAM_REFUSES = {
    "like": 'give a budget, as in batches={"budget": "padded:20000"}: the longest sequence of a stream is not known',
    "strategy": "leave it out: `window` says how many sequences batches are chosen from",
    "lengths": "give `length`, a function of an item",
}
#: Settings of training that evaluation of a stream has too.
STREAM_SHARES = ("budget", "shapes", "over_long", "seed", "window", "length")


class _Progress(TrainerCallback):
    """Tells the sampler which epoch begins, and counts the batches of the epoch that were trained on."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        batches = self.trainer._planned_batches
        self.trainer._trained_batches = 0
        if batches is None:
            return
        resumption, self.trainer._resumption = self.trainer._resumption, None
        # A loader that skips batches does not pass the epoch on.
        batches.set_epoch(int(state.epoch + 1e-6) if resumption is None else resumption.epoch)
        self.trainer._skipped_batches = 0 if resumption is None else resumption.skipped

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.trainer._trained_batches += 1

    on_substep_end = on_step_end


class TrainerMixin:
    """Put this before ``Trainer`` in the bases of a class to train and evaluate on planned batches.

    ``batches`` holds the settings of :class:`lengthwise.torch.BatchSampler`; ``budget`` or ``like`` is required. These
    are its own:

    - ``lengths``: the lengths of the training set, or a function that returns the lengths of a dataset;
    - ``column``: the column of the datasets that holds lengths, or sequences; found by its name otherwise;
    - ``padding_value``: a dictionary from fields to what they are padded with, if the collator does not know;
    - ``evaluation``: ``False`` to evaluate in batches of ``per_device_eval_batch_size``, or a dictionary of
      settings for evaluation, which replace those of training;
    - ``length``: for streams, a function that returns the length of an item.

    If the training set is an ``IterableDataset``, of PyTorch or of datasets, batches are those of
    :class:`lengthwise.torch.StreamBatches`, and its settings, such as ``window``, are taken. Every process reads the
    whole stream, and returns its own batches. As in ``Trainer``, ``max_steps`` is required.

    ``per_device_train_batch_size`` has no effect on training. ``gradient_accumulation_steps`` is set to the batches
    that an optimizer step was planned with; a number of your own that is different is refused. Batches are padded to
    their planned length, whatever the collator does. Checkpoints hold the state of the sampler, so a run resumes with
    every sequence exactly once in the epoch, also on another number of processes. The seed is ``data_seed``, or
    ``seed``, of the training arguments.

    Args:
        batches: The settings, such as ``{"like": "32,keep=steps"}`` or ``{"budget": "padded:20000"}``.
        args: The arguments of ``Trainer``, by position.
        keywords: The arguments of ``Trainer``, by name.
    """

    _planned_batches: BatchSampler | None = None
    #: The loader of a training set that is a stream.
    _stream_loader: StreamLoader | None = None
    #: Batches of this epoch: those of each process that were trained on, and those of all that a resume skipped.
    _trained_batches = 0
    _skipped_batches = 0
    #: The state in the checkpoint that is resumed, until the loader is made.
    _kept_state: Mapping[str, Any] | None = None
    _resumption: Resumption | None = None
    _gathering: Gathering | None = None
    #: The ``gradient_accumulation_steps`` that the plan has set.
    _accumulated: int | None = None
    #: Whether it is known that the model divides its loss by ``num_items_in_batch``, or that the Trainer must.
    _knows_scale = False

    def __init__(self, *args: Any, batches: TrainerSettings, **keywords: Any) -> None:
        if not isinstance(batches, Mapping):
            raise SettingError(
                f"`batches`: expected a dictionary, got {batches!r}",
                hint='give settings by name, as in batches={"budget": "padded:20000"}',
            )
        self._batch_settings: dict[str, Any] = dict(batches)
        strategy = self._batch_settings.get("strategy") or ""
        sized = any(self._batch_settings.get(name) is not None for name in ("budget", "like"))
        if not sized and not strategy.startswith("packed:"):
            raise SettingError(
                "`batches` has no budget",
                hint='give one, as in batches={"budget": "padded:20000"}, or the batch size that you have today, as '
                'in batches={"like": "32,keep=steps"}',
            )
        self._evaluation_setting = self._batch_settings.pop("evaluation", True)
        if not isinstance(self._evaluation_setting, (bool, Mapping)):
            raise SettingError(
                f"`evaluation` is {self._evaluation_setting!r}",
                hint='give True, False or settings, as in {"budget": "padded:40000"}',
            )
        self._padding_values = self._batch_settings.pop("padding_value", None)
        self._column = self._batch_settings.pop("column", None)
        # Streams whose collators are known to pad to the planned length, by their identity.
        self._stream_collators: dict[int, tuple[Any, Any]] = {}
        # Datasets that were planned for evaluation, by their identity.
        self._planned_evaluations: dict[int, tuple[Any, EvaluationBatches | None]] = {}
        super().__init__(*args, **keywords)
        self.add_callback(_Progress(self))  # type: ignore[attr-defined]

    # Training

    def train(
        self: Any, resume_from_checkpoint: str | bool | None = None, *args: Any, **keywords: Any
    ) -> Any:
        """Trains as ``Trainer.train`` does. With ``resume_from_checkpoint``, the sampler goes on from the state in
        the checkpoint. ``args`` and ``keywords`` are passed on."""
        folder = resume_from_checkpoint
        if folder is True:
            folder = get_last_checkpoint(self.args.output_dir)  # type: ignore[no-untyped-call]
        self._kept_state = None
        if folder and not self.args.ignore_data_skip:
            self._kept_state = read_state(folder)
            if self._kept_state is None and is_stream(self.train_dataset):
                raise StateError(
                    f"{folder} has no {STATE_NAME}, so it is not known how far the stream was read",
                    hint="resume from a checkpoint that this class has made, or give `ignore_data_skip=True` to "
                    "TrainingArguments to begin the stream again",
                )
            if self._kept_state is None:
                warnings.warn(
                    f"{folder} has no {STATE_NAME}: the Trainer skips as many batches as it has counted, which "
                    "is right only if nothing that changes batches or steps is different",
                    LengthwiseWarning,
                    stacklevel=2,
                )
        if str(getattr(self.args.eval_strategy, "value", self.args.eval_strategy)) != "no":
            given = self.eval_dataset if isinstance(self.eval_dataset, dict) else {"": self.eval_dataset}
            for dataset in given.values():
                self._evaluation_of(dataset)  # What cannot be planned is refused before training.
        try:
            return super().train(resume_from_checkpoint, *args, **keywords)  # type: ignore[misc]
        finally:
            self._kept_state = self._resumption = None

    def get_train_dataloader(self: Any) -> DataLoader[Any]:
        """Returns the loader of the planned batches, for ``Trainer``."""
        dataset = self.train_dataset
        if dataset is None:
            raise ValueError("Trainer: training requires a train_dataset.")
        self._planned_batches = self._stream_loader = None
        if is_stream(dataset):
            return self._training_stream(dataset)  # type: ignore[no-any-return]
        args = self.args
        settings = dict(self._batch_settings)
        _check_cut(settings)
        lengths = settings.pop("lengths", None)
        if lengths is None:
            # The collator of TRL cuts sequences to this.
            lengths = lengths_of(dataset, self._column, max_length=getattr(args, "max_length", None))
        elif callable(lengths):
            lengths = lengths(dataset)
        asked = self._asked_accumulation()
        if asked != 1 and not {"accumulate", "canonical_ranks"} & settings.keys() and not makes_steps(settings):
            settings["accumulate"] = asked
        settings.setdefault("seed", args.data_seed if args.data_seed is not None else args.seed)
        # The batches of all processes, step by step: the accelerator assigns them.
        batches = BatchSampler(
            lengths, rank="all", world_size=self.accelerator.num_processes, dataset=dataset, **settings
        )
        self._set_accumulation(batches.accumulate)
        self._planned_batches, self._trained_batches = batches, 0
        if self._kept_state is not None:
            self._resumption = Resumption(batches, self._kept_state)
        made: DataLoader[Any] = self._planned_loader(
            dataset,
            batches,
            EpochBatches(batches, self._resumption),
            "training",
            worker_init_fn=partial(
                seed_worker, num_workers=args.dataloader_num_workers, rank=args.process_index
            ),
        )
        self._check_resumption(made)
        return made

    def _training_stream(self: Any, dataset: Any) -> StreamLoader:
        """The loader of a training set that is a stream."""
        args = self.args
        stream = self._stream_of(dataset, self._batch_settings)
        if self._kept_state is not None:
            if not hasattr(super(), "_init_training_state"):
                raise StateError(
                    "this release of the Trainer cannot be told where a stream is to go on",
                    hint="use transformers 5, or give `ignore_data_skip=True` to TrainingArguments to begin the stream "
                    "again",
                )
            stream.load_state_dict(self._kept_state["sampler"])
        loader: StreamLoader = self._loader_of_stream(
            dataset, stream, "training", accumulate=args.gradient_accumulation_steps,
            worker_init_fn=partial(seed_worker, num_workers=args.dataloader_num_workers, rank=args.process_index),
        )  # fmt: skip
        self._stream_loader = loader
        return loader

    def _stream_of(self: Any, dataset: Any, settings: Mapping[str, Any]) -> StreamBatches:
        """The batches of this process over a stream."""
        settings, args = dict(settings), self.args
        for name, hint in STREAM_REFUSES.items():
            if settings.get(name) is not None:
                raise SettingError(f"a stream does not support `{name}`", hint=hint)
        _check_cut(settings)
        ranks = self.accelerator.num_processes
        check_whole(dataset, settings, ranks)
        length = settings.pop("length", None)
        if length is None:
            length = length_in(dataset, self._column, COLUMNS)
        settings.setdefault("seed", args.data_seed if args.data_seed is not None else args.seed)
        return StreamBatches(dataset, length, rank=self.accelerator.process_index, world_size=ranks, **settings)

    def _loader_of_stream(
        self: Any, dataset: Any, stream: StreamBatches, description: str, **options: Any
    ) -> StreamLoader:
        kept = self._stream_collators.get(id(dataset))
        if kept is None:
            items, lengths = samples(dataset, stream._length)
            collator = self.data_collator
            probe = self._get_collator_with_removed_columns(copied(collator))
            collator = self._get_collator_with_removed_columns(collator, description=description)
            if lengths and not self._makes_rows():
                collator = self._collator_to_length(collator, probe, items, Lengths(lengths))
            kept = self._stream_collators[id(dataset)] = dataset, collator
        return StreamLoader(stream, kept[1], **self._loader_options(), **options)

    def _asked_accumulation(self: Any) -> int:
        """The ``gradient_accumulation_steps`` that the user gave: 1 where the plan decides."""
        given: int = self.args.gradient_accumulation_steps
        return 1 if given == self._accumulated else given

    def _set_accumulation(self: Any, planned: int) -> None:
        """Has the Trainer take an optimizer step after as many batches as were planned for one. It reads its arguments
        whenever it needs the number, and leaves Accelerate's at 1."""
        args, asked = self.args, self._asked_accumulation()
        if planned == asked:
            self._accumulated = None
        elif asked == 1 and not self.is_deepspeed_enabled:
            self._accumulated = planned
            if self.is_world_process_zero():
                log.info(
                    "an optimizer step has %d batches for each process: `gradient_accumulation_steps` is set to %d",
                    planned, planned,
                )  # fmt: skip
        else:
            raise SettingError(
                f"an optimizer step has {planned} batches for each process, and the Trainer's "
                f"`gradient_accumulation_steps` is {asked}"
                + (", which DeepSpeed was told already" if self.is_deepspeed_enabled else ""),
                hint=f"give `gradient_accumulation_steps={planned}` to TrainingArguments"
                + ("" if self.is_deepspeed_enabled else ", or leave it out"),
            )
        args.gradient_accumulation_steps = planned

    def compute_loss(self: Any, model: Any, inputs: Any, *args: Any, **keywords: Any) -> Any:
        """Computes the loss as ``Trainer`` does. Before the first batch of training, it finds out if the model divides
        its loss by the number of items of a step, and has the Trainer divide if it does not.

        Args:
            model: The model.
            inputs: The batch.
            args: Other arguments of ``compute_loss`` of ``Trainer``, by position.
            keywords: Those by name.
        """
        if not self._knows_scale and keywords.get("num_items_in_batch") is not None:
            self._knows_scale = True
            self._find_scale(model, inputs, keywords["num_items_in_batch"])
        return super().compute_loss(model, inputs, *args, **keywords)  # type: ignore[misc]

    def _find_scale(self: Any, model: Any, inputs: Any, items: Any) -> None:
        """Has the Trainer divide the loss of a batch by the number of batches of a step, if it leaves that to the model
        and the model does not do so: some take ``num_items_in_batch`` and ignore it, and the gradient of a step would be
        several times as large."""
        own = super().compute_loss  # type: ignore[misc]
        leaves = getattr(self, "model_accepts_loss_kwargs", False) and getattr(self, "compute_loss_func", None) is None
        # Others than that of the Trainer may note what they compute.
        if self._accumulated is None or not leaves or own.__func__ is not Trainer.compute_loss:
            return
        with torch.no_grad(), evaluated(model):
            once, twice = (own(model, dict(inputs), num_items_in_batch=items * times) for times in (1, 2))
        if torch.equal(once, twice) and bool(once != 0):
            self.model_accepts_loss_kwargs = False
            log.info(
                "the model takes `num_items_in_batch` and ignores it: the Trainer divides its loss by the batches of a step"
            )

    def _check_resumption(self: Any, loader: DataLoader[Any]) -> None:
        """Refuses a resume that this release of the Trainer would get wrong."""
        resumption = self._resumption
        if resumption is None:
            return
        accumulated = self.args.gradient_accumulation_steps
        steps = max(math.ceil(len(loader) / accumulated), 1)
        epoch, taken = divmod(resumption.global_step, steps)
        skipped = resumption.skipped // self.accelerator.num_processes
        if (epoch, taken * accumulated) == (resumption.epoch, skipped):
            resumption.agreed = True  # The Trainer comes to the same by itself.
        elif not hasattr(super(), "_init_training_state"):
            raise StateError(
                f"the checkpoint is {skipped} batches into epoch {resumption.epoch}, and the Trainer counts "
                f"{taken * accumulated} batches of epoch {epoch} from its {resumption.global_step} steps",
                hint="resume with as many processes and accumulation steps as before, or use transformers 5",
            )

    def _init_training_state(self: Any, *args: Any, **keywords: Any) -> tuple[int, int]:
        """Where to continue: the Trainer divides its steps by those of an epoch, which is right only while all
        steps were taken with one number of processes."""
        trained: tuple[int, int] = super()._init_training_state(*args, **keywords)  # type: ignore[misc]
        if self._stream_loader is not None and self._kept_state is not None:
            return self._stream_loader.stream.epoch, 0  # What was read is skipped by the stream itself.
        resumption = self._resumption
        if resumption is None:
            return trained
        resumption.agreed = True
        return resumption.epoch, resumption.skipped // self.accelerator.num_processes

    def set_initial_training_values(self: Any, *args: Any, **keywords: Any) -> Any:
        """How many steps there will be: those that were taken, and those that are left."""
        values = super().set_initial_training_values(*args, **keywords)  # type: ignore[misc]
        resumption = self._resumption
        if resumption is None:
            return values
        epochs, steps, *others, most = values
        accumulated = self.args.gradient_accumulation_steps
        skipped = resumption.skipped // self.accelerator.num_processes // accumulated
        # What the steps so far would have been with as many processes as there are now.
        passed = resumption.epoch * steps + skipped
        if self.args.max_steps > 0:
            epochs = math.ceil((most - resumption.global_step + passed) / steps)
        else:
            most = resumption.global_step + most - passed
        return (epochs, steps, *others, most)

    def save_model(
        self: Any, output_dir: str | None = None, _internal_call: bool = False, **keywords: Any
    ) -> None:
        """Saves the model to ``output_dir`` as ``Trainer.save_model`` does. If ``_internal_call`` is true, as for
        checkpoints, the state of the sampler is saved beside it. ``keywords`` are passed on."""
        super().save_model(output_dir, _internal_call=_internal_call, **keywords)  # type: ignore[misc]
        # Internal calls are for checkpoints. The Trainer's own state, without which there is nothing to resume,
        # is written later.
        if not _internal_call or output_dir is None or not self.args.should_save:
            return
        batches, loader = self._planned_batches, self._stream_loader
        if loader is not None and self.is_in_train:
            sampler = loader.state_after(self._trained_batches)
            state = {
                "epoch": loader.stream.epoch, "ended": "ended" in sampler, "global_step": self.state.global_step,
                "sampler": sampler,
            }  # fmt: skip
            write_state(output_dir, state)
        if batches is None or not self.is_in_train:
            return
        trained = self._trained_batches * self.accelerator.num_processes
        state = {
            "epoch": batches.epoch,
            "ended": trained + self._skipped_batches >= len(batches),
            "global_step": self.state.global_step,
            "sampler": batches.state_dict(batches=trained),
        }
        write_state(output_dir, state)

    # Evaluation

    def get_eval_dataloader(self: Any, eval_dataset: Any = None) -> DataLoader[Any]:
        """Returns the loader of planned batches of ``eval_dataset``, for ``Trainer``."""
        dataset, key = eval_dataset, "eval"
        if isinstance(eval_dataset, str):
            dataset, key = self.eval_dataset[eval_dataset], eval_dataset
        elif dataset is None:
            dataset = self.eval_dataset
        planned = self._evaluation_of(dataset)
        if planned is None:
            return super().get_eval_dataloader(eval_dataset)  # type: ignore[misc, no-any-return]
        if isinstance(planned, StreamBatches):
            return self._evaluation_stream(dataset, planned)  # type: ignore[no-any-return]
        # Workers that stay are started once for each dataset.
        persistent = self.args.dataloader_persistent_workers
        kept: dict[str, DataLoader[Any]] = self.__dict__.setdefault("_planned_loaders", {}) if persistent else {}
        if getattr(kept.get(key), "planned", None) is not planned:
            kept[key] = self._evaluation_loader(dataset, planned)
        return kept[key]

    def get_test_dataloader(self: Any, test_dataset: Any) -> DataLoader[Any]:
        """Returns the loader of planned batches of ``test_dataset``, for ``Trainer``."""
        planned = self._evaluation_of(test_dataset)
        if planned is None:
            return super().get_test_dataloader(test_dataset)  # type: ignore[misc, no-any-return]
        if isinstance(planned, StreamBatches):
            return self._evaluation_stream(test_dataset, planned)  # type: ignore[no-any-return]
        return self._evaluation_loader(test_dataset, planned)  # type: ignore[no-any-return]

    def _evaluation_loader(self: Any, dataset: Any, planned: EvaluationBatches) -> DataLoader[Any]:
        loader: DataLoader[Any] = self._planned_loader(dataset, planned.batches, planned, "evaluation")
        setattr(loader, "planned", planned)
        return loader

    def _evaluation_stream(self: Any, dataset: Any, stream: StreamBatches) -> StreamLoader:
        loader: StreamLoader = self._loader_of_stream(dataset, stream, "evaluation")
        planned = StreamedEvaluation(self.accelerator.num_processes)
        loader.on_step = planned.step
        setattr(loader, "planned", planned)
        return loader

    def _evaluation_of(self: Any, dataset: Any) -> EvaluationBatches | StreamBatches | None:
        """The planned batches of a dataset; ``None`` if it is evaluated as without this class."""
        if dataset is None or self._evaluation_setting is False:
            return None
        if is_stream(dataset):
            return self._plan_stream_evaluation(dataset)  # type: ignore[no-any-return]
        kept = self._planned_evaluations.get(id(dataset))
        if kept is None or (kept[1] is not None and len(kept[1].batches.lengths) != len(dataset)):
            kept = dataset, self._plan_evaluation(dataset)
            self._planned_evaluations[id(dataset)] = kept
        return kept[1]  # type: ignore[no-any-return]

    def _plan_stream_evaluation(self: Any, dataset: Any) -> StreamBatches | None:
        args = self.args
        own = self._evaluation_setting if isinstance(self._evaluation_setting, Mapping) else {}
        settings = {name: self._batch_settings[name] for name in STREAM_SHARES if name in self._batch_settings}
        settings.update(own)
        if self._does_not_sort() or self._makes_rows() or args.batch_eval_metrics or settings.get("budget") is None:
            return None
        if settings.get("over_long") in ("drop", "truncate") and "over_long" not in own:
            settings["over_long"] = "alone"  # Every item has a result.
        settings["tail"] = "split"
        try:
            return self._stream_of(dataset, settings)  # type: ignore[no-any-return]
        except (LengthsError, SettingError) as error:
            # Settings that were given for streams are wrong; those of a training set with an index are not.
            if isinstance(error, SettingError) and (own or is_stream(self.train_dataset)):
                raise
            warnings.warn(
                f"evaluation is not planned: {str(error).partition('hint:')[0].strip()} ({error.hint}). Give settings "
                'for evaluation alone, as in `batches={"evaluation": {"budget": "padded:20000", "length": len}}`, or '
                '`"evaluation": False` to leave it unplanned',
                LengthwiseWarning,
                stacklevel=4,
            )
            return None

    def _does_not_sort(self: Any) -> bool:
        """Whether results come in another form than one for each sequence, which could be put in order."""
        args = self.args
        return (
            not args.eval_do_concat_batches  # Results are those of batches.
            or getattr(args, "eval_use_gather_object", False)
            or getattr(args, "use_legacy_prediction_loop", False)
        )

    def _plan_evaluation(self: Any, dataset: Any) -> EvaluationBatches | None:
        args, ranks = self.args, self.accelerator.num_processes
        own = self._evaluation_setting if isinstance(self._evaluation_setting, Mapping) else {}
        settings = {name: value for name, value in self._batch_settings.items() if name not in TRAINING_ONLY}
        settings.update(own)
        if settings.get("strategy") is None and not (own.get("second") or self._batch_settings.get("second")):
            # Nothing is learned from a batch: what pads little is best.
            settings["strategy"] = "shuffled"
            settings.setdefault("shapes", "ladder:16")
        if settings.get("like") is not None:
            settings["like"] = str(settings["like"]).partition(",")[0]  # No steps are kept.
        packed = (settings.get("strategy") or "").startswith("packed")
        if (
            packed or self._makes_rows()  # Results are those of rows, and not of sequences.
            or not hasattr(dataset, "__getitem__")
            or not hasattr(dataset, "__len__")
            or len(dataset) < ranks  # Some process would have nothing to evaluate.
            or self._does_not_sort()
        ):
            return None
        for name in ("lengths", "second"):
            settings[name] = self._evaluation_lengths(dataset, name, own)
        if getattr(settings["lengths"], "items", None) is not None:
            return None  # A result is that of a pair, and not of a sequence.
        if settings["lengths"] is None or (
            settings["second"] is None and self._batch_settings.get("second") is not None
        ):
            warnings.warn(
                "evaluation is not planned: the lengths of its sequences are not known without reading them. Give "
                "`lengths` (and `second`) as a function of a dataset, or for evaluation alone, as in "
                '`batches={"evaluation": {"lengths": lengths}}`; `"evaluation": False` leaves it unplanned',
                LengthwiseWarning,
                stacklevel=4,
            )
            return None
        if settings.get("over_long") in ("drop", "truncate") and "over_long" not in own:
            settings["over_long"] = "alone"  # Every sequence has a result.
        _check_cut(settings)
        settings.setdefault("seed", args.data_seed if args.data_seed is not None else args.seed)
        settings.setdefault("constant_steps", False)
        settings["tail"] = "split"  # Every sequence has one result.
        batches = BatchSampler(
            settings.pop("lengths"), rank="all", world_size=ranks, dataset=dataset, **settings
        )
        return EvaluationBatches(batches, ranks)

    def _evaluation_lengths(self: Any, dataset: Any, name: str, own: Mapping[str, Any]) -> Any:
        given = own.get(name)
        if given is None:
            given = self._batch_settings.get(name)
            if given is not None and not callable(given) and dataset is not self.train_dataset:
                # Its lengths were given, so reading its items must have been thought expensive.
                given = None
                if not hasattr(dataset, "column_names"):
                    return None
        if given is not None:
            return given(dataset) if callable(given) else given
        if name == "second":
            return None
        try:
            return lengths_of(dataset, self._column)
        except LengthsError:
            return None

    def evaluation_loop(self: Any, dataloader: DataLoader[Any], *args: Any, **keywords: Any) -> Any:
        """Evaluates on ``dataloader``, and puts the results into the order of the dataset. ``args`` and ``keywords``
        are passed on to ``Trainer``."""
        planned: EvaluationBatches | StreamedEvaluation | None = getattr(dataloader, "planned", None)
        if planned is None:
            return super().evaluation_loop(dataloader, *args, **keywords)  # type: ignore[misc]
        if isinstance(planned, StreamedEvaluation):
            planned.begin()
        kept = self.gather_function, self.compute_metrics
        self._gathering = Gathering(planned, self.accelerator, self.args.eval_batch_size)
        self.gather_function = self._gathering
        if self.compute_metrics is not None and not self.args.batch_eval_metrics:
            self.compute_metrics = _in_order(planned, self.compute_metrics)
        try:
            output = super().evaluation_loop(dataloader, *args, **keywords)  # type: ignore[misc]
        finally:
            self._gathering = None
            self.gather_function, self.compute_metrics = kept
        return output._replace(
            predictions=planned.in_order(output.predictions), label_ids=planned.in_order(output.label_ids)
        )

    def prediction_step(self: Any, *args: Any, **keywords: Any) -> Any:
        """Evaluates on one batch. ``args`` and ``keywords`` are passed on to ``Trainer``."""
        loss, *others = super().prediction_step(*args, **keywords)  # type: ignore[misc]
        if self._gathering is not None:
            loss = self._gathering.begin_step(loss)
        return (loss, *others)

    # Both

    def _planned_loader(
        self: Any, dataset: Any, batches: BatchSampler, sampler: Any, description: str, **options: Any
    ) -> DataLoader[Any]:
        collator, probe = self.data_collator, copied(self.data_collator)
        if hasattr(dataset, "column_names"):
            dataset = self._remove_unused_columns(dataset, description=description)
        else:
            collator = self._get_collator_with_removed_columns(collator, description=description)
            probe = self._get_collator_with_removed_columns(probe)
        if self._makes_rows():
            if not batches.plan.packed:
                warnings.warn(
                    "the collator puts the sequences of a batch into one row without padding, and batches are planned "
                    'as if they were padded: give `batches={"strategy": "packed", …}` for fuller rows',
                    LengthwiseWarning,
                    stacklevel=4,
                )
        elif batches.plan.packed:
            if not has_rows(self.model) and pads(probe, dataset):
                warnings.warn(
                    "batches are planned as packed rows, and the collator pads the sequences of a batch, which then "
                    "exceeds the budget\nhint: collate without padding, as with `padding_free=True` in TRL's SFTConfig "
                    "or with `DataCollatorWithFlattening`; use `as_rows`; or leave the strategy \"packed\" out",
                    LengthwiseWarning,
                    stacklevel=4,
                )
        elif batches.lengths.items is None:
            collator = self._collator_to_length(collator, probe, dataset, batches.lengths)
        made = DataLoader(
            _Planned(dataset), batch_sampler=sampler, collate_fn=collator, **self._loader_options(), **options
        )
        # Every process has as many batches, so there is nothing to make even; and Accelerate below 1.14 refuses
        # batches of different sizes otherwise.
        even, self.accelerator.even_batches = self.accelerator.even_batches, False
        try:
            prepared: DataLoader[Any] = self.accelerator.prepare(made)
        finally:
            self.accelerator.even_batches = even
        return prepared

    def _makes_rows(self: Any) -> bool:
        """Whether the collator puts the sequences of a batch into one row, as that of TRL's ``SFTTrainer`` can."""
        return bool(getattr(self.data_collator, "padding_free", False))

    def _collator_to_length(self: Any, collator: Any, probe: Any, dataset: Any, lengths: Lengths) -> Any:
        """A collator that pads to the planned length."""
        return planned_collate(
            collator,
            probe,
            dataset,
            lengths,
            values=self._padding_values,
            tokenizer=getattr(self, "processing_class", None),
            accepts_mask="attention_mask" in inspect.signature(self.model.forward).parameters,
        )

    def _loader_options(self: Any) -> dict[str, Any]:
        """The options of loaders that the training arguments hold."""
        args, options = self.args, {}
        if getattr(args, "dataloader_multiprocessing_context", None) is not None:
            options["multiprocessing_context"] = args.dataloader_multiprocessing_context
        return {
            "num_workers": args.dataloader_num_workers,
            "pin_memory": args.dataloader_pin_memory,
            "persistent_workers": args.dataloader_persistent_workers,
            "prefetch_factor": args.dataloader_prefetch_factor,
            **options,
        }


def _check_cut(settings: Mapping[str, Any]) -> None:
    """Refuses to plan sequences as shorter than they are: nothing would cut them."""
    if settings.get("over_long") == "truncate":
        raise SettingError(
            'TrainerMixin does not support `over_long="truncate"`',
            hint='give "drop" or "alone", or cut sequences when you tokenize, as in `tokenizer(text, truncation=True, '
            "max_length=512)`",
        )


def _in_order(
    planned: EvaluationBatches | StreamedEvaluation, compute_metrics: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """Metrics of results in the order of the dataset."""

    def compute(results: Any) -> Any:
        names = ("predictions", "label_ids", "inputs", "losses")
        parts = {name: planned.in_order(getattr(results, name, None)) for name in names}
        results = type(results)(**{name: part for name, part in parts.items() if part is not None})
        return compute_metrics(results)

    return compute
