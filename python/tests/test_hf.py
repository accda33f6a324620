"""The Hugging Face Trainer in one process: padding to planned lengths, evaluation, states in checkpoints."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from lengthwise import LengthsError, LengthwiseWarning, SettingError, StateError  # noqa: E402
from lengthwise.hf import TrainerMixin, lengths_of  # noqa: E402
from lengthwise.torch import pad_collate  # noqa: E402

PAD, MASK, FIRST = 0, 1, 10


class PlannedTrainer(TrainerMixin, transformers.Trainer):
    pass


class Items(torch.utils.data.Dataset):
    """Sequences of tokens that are never the padding token, and one label for each sequence of another field."""

    def __init__(self, lengths, fields=("input_ids",)) -> None:
        self.lengths, self.fields = [int(length) for length in lengths], fields

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> dict:
        length = self.lengths[index]
        ids = [FIRST + (index + place) % 50 for place in range(length)]
        values = {
            "input_ids": ids,
            "attention_mask": [1] * length,
            "labels": [token + 100 for token in ids],
            "features": [[float(token), 1.0] for token in ids],
            "speaker": [0.5] * 7,
        }
        return {name: values[name] for name in self.fields}


class Model(torch.nn.Module):
    """Remembers the shapes it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.shapes: set[tuple[int, ...]] = set()

    def forward(self, input_ids, attention_mask=None, labels=None, features=None, speaker=None):
        shapes = {tuple(part.shape) for part in (input_ids, attention_mask, labels) if part is not None}
        assert len(shapes) == 1
        self.shapes |= shapes
        return {"loss": self.weight.sum() * 1e-9}


def tokenizer(side: str = "right"):
    tokenizers = pytest.importorskip("tokenizers")
    words = {"<pad>": PAD, "<mask>": MASK, "<unk>": 2, **{f"w{number}": number for number in range(3, 60)}}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", mask_token="<mask>", unk_token="<unk>", padding_side=side
    )


def own_collate(rows):
    ids = [torch.tensor(row["input_ids"]) for row in rows]
    labels = [torch.tensor(row["labels"]) for row in rows]
    pad = torch.nn.utils.rnn.pad_sequence
    return {
        "input_ids": pad(ids, batch_first=True, padding_value=PAD),
        "labels": pad(labels, batch_first=True, padding_value=-100),
        "speaker": torch.tensor([row["speaker"] for row in rows]),
        "features": pad([torch.tensor(row["features"]) for row in rows], batch_first=True, padding_value=-1.0),
    }


COLLATORS = {
    "padding": (
        lambda side: transformers.DataCollatorWithPadding(tokenizer(side)),
        ("input_ids", "attention_mask"),
    ),
    "seq2seq": (
        lambda side: transformers.DataCollatorForSeq2Seq(tokenizer(side)),
        ("input_ids", "attention_mask", "labels"),
    ),
    "causal": (
        lambda side: transformers.DataCollatorForLanguageModeling(tokenizer(side), mlm=False),
        ("input_ids", "attention_mask"),
    ),
    "masked": (
        lambda side: transformers.DataCollatorForLanguageModeling(tokenizer(side)),
        ("input_ids", "attention_mask"),
    ),
    "default": (lambda side: transformers.default_data_collator, ("input_ids", "labels")),
    "own": (lambda side: own_collate, ("input_ids", "labels", "speaker", "features")),
}


def trained(folder, dataset, collator, batches=None, arguments=None, model=None, **options):
    settings = {"save_strategy": "no", "logging_strategy": "no", **(arguments or {})}
    made = transformers.TrainingArguments(
        str(folder), report_to=[], use_cpu=True, disable_tqdm=True, remove_unused_columns=False, **settings
    )
    batches = {"budget": "padded:600", "column": "input_ids", **(batches or {})}
    return PlannedTrainer(
        model or Model(), made, train_dataset=dataset, data_collator=collator, batches=batches, **options
    )


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", COLLATORS)
def test_every_field_is_padded_to_the_planned_length(tmp_path, lengths, name, side):
    if (name, side) == ("own", "left"):
        pytest.skip("this function pads on the right")
    make, fields = COLLATORS[name]
    dataset = Items(lengths, fields)
    shapes = {"shapes": "ladder:4"}
    trainer = trained(tmp_path, dataset, make(side), shapes, processing_class=tokenizer(side))
    loader = trainer.get_train_dataloader()
    plan = trainer._planned_batches.plan
    longer = 0
    for place, batch in enumerate(loader):
        indices, width = plan[place], int(plan.batch_lengths[place])
        longer += width > max(lengths[indices])
        padded = {"input_ids": PAD, "attention_mask": 0, "labels": -100}
        for row, index in enumerate(indices):
            item = dataset[int(index)]
            real = slice(width - len(item["input_ids"]), None) if side == "left" else None
            real = real or slice(0, len(item["input_ids"]))
            for field, value in padded.items():
                if field not in batch:
                    continue
                cells = batch[field][row].tolist()
                assert len(cells) == width
                empty = cells[: real.start] if side == "left" else cells[real.stop :]
                assert set(empty) <= {value}
                if field in item and not (name == "masked" and field == "input_ids"):
                    assert cells[real] == item[field]
            if name == "causal":
                assert batch["labels"][row].tolist()[real] == item["input_ids"]
            if name == "own":
                assert batch["features"][row].tolist() == item["features"] + [[-1.0, -1.0]] * (
                    width - len(item["features"])
                )
                assert batch["speaker"].shape == (len(indices), 7)
        if name in ("causal", "masked", "default", "padding"):
            assert {"attention_mask"} <= set(batch)
    assert longer > 0


def test_the_model_sees_the_planned_shapes_only(tmp_path, lengths):
    dataset = Items(lengths)
    collator = transformers.DataCollatorForLanguageModeling(tokenizer(), mlm=False)
    trainer = trained(
        tmp_path, dataset, collator, {"shapes": "ladder:4"}, arguments={"num_train_epochs": 2}
    )
    trainer.train()
    sampler = trainer._planned_batches
    planned = set()
    for epoch in range(2):
        sampler.set_epoch(epoch)
        planned |= set(zip(sampler.plan.batch_sizes.tolist(), sampler.plan.batch_lengths.tolist()))
    assert trainer.model.shapes == planned


def test_learning_how_a_collator_pads_draws_no_random_numbers(tmp_path, lengths):
    collator = transformers.DataCollatorForLanguageModeling(tokenizer())
    trainer = trained(tmp_path, Items(lengths), collator)
    torch.manual_seed(5)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()
    trainer.get_train_dataloader()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]


def test_a_field_of_fixed_size_is_left_alone_in_every_batch(tmp_path):
    """Its size is the length of some sequences, and even the longest there is."""
    dataset = Items([3, 5, 7, 7, 6, 7, 2], ("input_ids", "labels", "speaker", "features"))
    trainer = trained(tmp_path, dataset, own_collate, {"budget": "padded:21", "shapes": "multiple:8"})
    for batch in trainer.get_train_dataloader():
        assert batch["speaker"].shape[1] == 7
        assert batch["input_ids"].shape[1] == batch["labels"].shape[1] == 8


def test_a_collator_without_a_token_to_pad_with_is_refused(tmp_path, lengths):
    trainer = trained(tmp_path, Items(lengths), transformers.default_data_collator)
    with pytest.raises(SettingError, match="no token to pad with"):
        trainer.get_train_dataloader()
    batches = {"padding_value": {"input_ids": 9}}
    trainer = trained(tmp_path, Items(lengths), transformers.default_data_collator, batches)
    assert any((batch["input_ids"] == 9).any() for batch in trainer.get_train_dataloader())


def test_a_collator_whose_padding_is_unknown_is_said(tmp_path, lengths):
    def collate(rows):
        if len({len(row["input_ids"]) for row in rows}) > 1:
            raise ValueError("unequal")
        return {"input_ids": torch.tensor([row["input_ids"] for row in rows])}

    with pytest.warns(LengthwiseWarning, match="not to the planned length.*unequal"):
        trained(tmp_path, Items(lengths), collate).get_train_dataloader()


def test_padding_of_the_package_itself_is_left_alone(tmp_path, lengths):
    trainer = trained(tmp_path, Items(lengths), pad_collate(lengths=None))
    loader = trainer.get_train_dataloader()
    widths = [batch["input_ids"].shape[1] for batch in loader]
    assert widths == trainer._planned_batches.plan.batch_lengths.tolist()


def test_sequences_that_nothing_would_cut_are_refused(tmp_path):
    lengths, cut = [200, 3000, 800, 100, 50], {"over_long": "truncate", "budget": "padded:1024"}
    for dataset in (Items(lengths, ("input_ids", "labels")), Stream(lengths)):
        with pytest.raises(SettingError, match="truncate") as caught:
            trained(tmp_path, dataset, pad_collate(), cut, {"max_steps": 3}).train()
        assert "max_length" in caught.value.hint
    evaluation = {"evaluation": {"over_long": "truncate"}, "budget": "padded:5000"}
    with pytest.raises(SettingError, match="truncate"):
        trained(tmp_path, Items(lengths), own_collate, evaluation, eval_dataset=Items(lengths)).evaluate()


def test_a_stream_has_no_lengths():
    with pytest.raises(LengthsError, match="got a Stream") as caught:
        lengths_of(Stream([3, 4]))
    assert "StreamBatches" in caught.value.hint


def test_settings_that_are_no_dictionary_are_refused(tmp_path, lengths):
    with pytest.raises(SettingError, match="`batches`: expected a dictionary, got 'padded:1024'"):
        PlannedTrainer(Model(), train_dataset=Items(lengths), batches="padded:1024")


def test_pairs_are_padded_to_both_planned_lengths(tmp_path, lengths):
    seconds = lengths[::-1] // 2 + 1

    class Pairs(Items):
        def __getitem__(self, index):
            item = super().__getitem__(index)
            return {**item, "labels": [5] * int(seconds[index])}

    collator = transformers.DataCollatorForSeq2Seq(tokenizer())
    settings = {"budget": "padded:max=600", "second": seconds, "shapes": "multiple:8"}
    trainer = trained(tmp_path, Pairs(lengths, ("input_ids", "attention_mask")), collator, settings)
    loader = trainer.get_train_dataloader()
    plan = trainer._planned_batches.plan
    shapes = []
    for place, batch in enumerate(loader):
        shapes.append((batch["input_ids"].shape[1], batch["labels"].shape[1]))
        assert (batch["labels"] != -100).sum(1).tolist() == seconds[plan[place]].tolist()
    assert shapes == list(zip(plan.batch_lengths.tolist(), plan.second_batch_lengths.tolist()))


def test_evaluation_that_cannot_be_planned_is_refused_before_training(tmp_path, lengths):
    dataset, long = Items(lengths), Items([5, 601])
    trainer = trained(
        tmp_path, dataset, transformers.DataCollatorWithPadding(tokenizer()),
        arguments={"eval_strategy": "epoch"}, eval_dataset={"short": dataset, "long": long},
    )  # fmt: skip
    with pytest.raises(ValueError, match="601"):
        trainer.train()
    assert not trainer.model.shapes


def test_evaluation_has_settings_of_its_own(tmp_path, lengths):
    dataset = Items(lengths)
    batches = {"evaluation": {"budget": "padded:1200"}, "over_long": "drop"}
    trainer = trained(tmp_path, dataset, transformers.DataCollatorWithPadding(tokenizer()), batches)
    loader = trainer.get_eval_dataloader(Items([1500, *lengths]))
    shapes = [tuple(batch["input_ids"].shape) for batch in loader]
    assert sum(size for size, _ in shapes) == len(lengths) + 1
    cells = [size * length for size, length in shapes if size > 1]
    assert 600 < max(cells) <= 1200
    assert (1, 1500) in shapes  # Training would drop it; here it has a result.


def test_lengths_that_were_given_for_training_are_not_guessed_for_evaluation(tmp_path, lengths):
    collator = transformers.DataCollatorWithPadding(tokenizer())
    arguments = {"per_device_eval_batch_size": 4}
    batches = {"lengths": lengths, "column": None}
    other = Items(lengths[:40])
    trainer = trained(tmp_path, Items(lengths), collator, batches, arguments)
    with pytest.warns(LengthwiseWarning, match="evaluation is not planned"):
        loader = trainer.get_eval_dataloader(other)
    assert {len(batch["input_ids"]) for batch in loader} == {4}
    batches["lengths"] = lambda dataset: dataset.lengths
    trainer = trained(tmp_path, Items(lengths), collator, batches, arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = trainer.get_eval_dataloader(other)
    assert {len(batch["input_ids"]) for batch in loader} != {4}


def checkpoint(tmp_path, lengths):
    collator = transformers.DataCollatorWithPadding(tokenizer())
    arguments = {"max_steps": 3, "save_strategy": "steps", "save_steps": 3}
    trained(tmp_path, Items(lengths), collator, arguments=arguments).train()
    return tmp_path / "checkpoint-3", trained(tmp_path, Items(lengths), collator, arguments={"max_steps": 5})


def test_a_state_that_is_missing_is_said_and_one_that_is_damaged_is_refused(tmp_path, lengths):
    folder, trainer = checkpoint(tmp_path, lengths)
    path = folder / "lengthwise_state.json"
    state = path.read_text()
    assert json.loads(state)["global_step"] == 3
    assert [file.name for file in folder.iterdir() if file.name.startswith(".")] == []
    for damaged in (state[:40], "[]", state.replace('"version": 1', '"version": 9', 1)):
        path.write_text(damaged)
        with pytest.raises(StateError, match="lengthwise_state.json"):
            trainer.train(resume_from_checkpoint=str(folder))
    path.unlink()
    with pytest.warns(LengthwiseWarning, match="has no lengthwise_state.json"):
        trainer.train(resume_from_checkpoint=str(folder))
    assert trainer.state.global_step == 5


class Weighed(torch.nn.Module):
    """Has a loss for each token; the Trainer says over how many of them the mean is taken, if it is asked to."""

    def __init__(self, accepts: bool) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.accepts_loss_kwargs = accepts
        self.means: list[tuple[float, int]] = []

    def forward(self, input_ids, attention_mask=None, labels=None, num_items_in_batch=None):
        mask = labels != -100
        total, count = input_ids[mask].sum() / 10, int(mask.sum())
        if self.training:  # Not when it is asked how it divides.
            self.means.append((float(total) / count, count))
        return {"loss": self.weight.sum() * total / (count if num_items_in_batch is None else num_items_in_batch)}


class Gradients(transformers.TrainerCallback):
    """Notes the gradient of every optimizer step."""

    def __init__(self) -> None:
        self.found: list[float] = []

    def on_pre_optimizer_step(self, args, state, control, model=None, **_):
        self.found.append(model.weight.grad.item())


UPDATES = {
    "update": {"update": "tokens:3000", "strategy": "proportional"},
    "accumulate": {"accumulate": 3},
    "canonical": {"canonical_ranks": 4},
}


@pytest.mark.parametrize("accepts", [True, False])
@pytest.mark.parametrize("kind", UPDATES)
def test_a_plan_decides_how_many_batches_are_accumulated(tmp_path, caplog, lengths, kind, accepts):
    collator = transformers.DataCollatorForSeq2Seq(tokenizer())
    dataset = Items(lengths, ("input_ids", "attention_mask", "labels"))
    gradients, model = Gradients(), Weighed(accepts)
    trainer = trained(
        tmp_path, dataset, collator, UPDATES[kind],
        {"num_train_epochs": 1, "learning_rate": 0.0, "max_grad_norm": 0.0}, model, callbacks=[gradients],
    )  # fmt: skip
    trainer.model_accepts_loss_kwargs = accepts
    with caplog.at_level("INFO", logger="lengthwise"):
        trainer.train()
    each = trainer._planned_batches.accumulate
    assert each == trainer.args.gradient_accumulation_steps > 1
    assert [each_time.message for each_time in caplog.records if "gradient_accumulation_steps" in each_time.message] == [
        f"an optimizer step has {each} batches for each process: `gradient_accumulation_steps` is set to {each}"
    ]
    steps = [model.means[place : place + each] for place in range(0, len(model.means), each)]
    assert trainer.state.global_step == trainer.state.max_steps == len(steps)
    for step, found in zip(steps, gradients.found, strict=True):
        means, counts = zip(*step)
        # A model that is not told the number of tokens has the mean of the means.
        assert found == pytest.approx(np.average(means, weights=counts if accepts else None), rel=1e-4)
    # Once more: the number is still that of the plan, and not the user's.
    model.means.clear()
    trainer.train()
    assert len(model.means) == each * len(steps)


def test_a_number_of_your_own_that_is_not_planned_is_refused(tmp_path, monkeypatch, lengths):
    dataset, collator = Items(lengths), transformers.DataCollatorWithPadding(tokenizer())
    for kind, settings in UPDATES.items():
        trainer = trained(tmp_path, dataset, collator, settings, {"gradient_accumulation_steps": 2})
        with pytest.raises(SettingError, match=r"`gradient_accumulation_steps` is 2") as refused:
            trainer.get_train_dataloader()
        each = int(refused.value.hint.split("gradient_accumulation_steps=")[1].split("`")[0])
        for asked in (each, 1):
            trainer = trained(tmp_path, dataset, collator, settings, {"gradient_accumulation_steps": asked})
            assert len(trainer.get_train_dataloader()) % each == 0
            assert trainer.args.gradient_accumulation_steps == each
        if kind == "update":
            assert len(trainer.get_train_dataloader()) == each * round(lengths.sum() / 3000)
    # DeepSpeed was told the number when the Trainer was made.
    trainer = trained(tmp_path, dataset, collator, UPDATES["update"])
    monkeypatch.setattr(trainer, "is_deepspeed_enabled", True)
    with pytest.raises(SettingError, match="DeepSpeed was told already"):
        trainer.get_train_dataloader()


def test_todays_batch_size_is_enough_to_plan(tmp_path, lengths):
    dataset = Items(lengths, ("input_ids", "attention_mask", "labels"))
    collator = transformers.DataCollatorForSeq2Seq(tokenizer())
    arguments = transformers.TrainingArguments(
        str(tmp_path), report_to=[], use_cpu=True, disable_tqdm=True, remove_unused_columns=False, save_strategy="no",
        logging_strategy="no", num_train_epochs=1,
    )  # fmt: skip

    def made(batches):
        return PlannedTrainer(Model(), arguments, train_dataset=dataset, data_collator=collator, batches=batches)

    trainer = made({"like": "16,keep=steps", "column": "input_ids"})
    trainer.train()
    assert trainer.state.global_step == -(-len(lengths) // 16)
    with pytest.raises(SettingError, match="no budget") as refused:
        made({"column": "input_ids"})
    assert 'batches={"like": "32,keep=steps"}' in refused.value.hint


class Stream(torch.utils.data.IterableDataset):
    """Sequences one after another, with their number as the label."""

    def __init__(self, lengths) -> None:
        self.lengths = [int(length) for length in lengths]

    def __iter__(self):
        for index, length in enumerate(self.lengths):
            yield {"input_ids": [FIRST + index] * length, "labels": [index] * length, "speaker": index}


class Seen(Model):
    """Remembers which sequences it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[list[int]] = []

    def forward(self, input_ids, attention_mask=None, labels=None):
        self.seen.append(labels[:, 0].tolist())
        return super().forward(input_ids, attention_mask, labels)


def streamed(folder, dataset, batches=None, arguments=None, **options):
    arguments = {"max_steps": 10, **(arguments or {})}
    batches = {"budget": "padded:600", "window": 20, **(batches or {})}
    settings = {"save_strategy": "no", "logging_strategy": "no", **arguments}
    made = transformers.TrainingArguments(str(folder), report_to=[], use_cpu=True, disable_tqdm=True, **settings)
    collator = transformers.DataCollatorForSeq2Seq(tokenizer())
    return PlannedTrainer(
        Seen(), made, train_dataset=dataset, data_collator=collator, batches=batches, processing_class=tokenizer(),
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_stream_resumes_from_every_step(tmp_path, lengths, accumulate):
    """Also at the end of an epoch, and after a step that has batches of two epochs."""
    dataset = Stream(lengths[:40])
    arguments = {"max_steps": 9, "gradient_accumulation_steps": accumulate, "save_strategy": "steps", "save_steps": 1}
    whole = streamed(tmp_path, dataset, arguments=arguments)
    whole.train()
    seen = whole.model.seen
    per_epoch = next(n for n in range(len(seen)) if sum(map(len, seen[:n])) == 40)
    assert len(seen) == 9 * accumulate and per_epoch < 9 and (accumulate == 1 or per_epoch % accumulate)
    for epoch in range(len(seen) // per_epoch):
        batches = seen[epoch * per_epoch : (epoch + 1) * per_epoch]
        assert sorted(index for batch in batches for index in batch) == list(range(40))
    if not hasattr(transformers.Trainer, "_init_training_state"):
        return
    for step in range(1, 9):
        rest = streamed(tmp_path / "rest", dataset, arguments={**arguments, "save_strategy": "no"})
        rest.train(resume_from_checkpoint=str(tmp_path / f"checkpoint-{step}"))
        assert rest.model.seen == seen[step * accumulate :]
        assert rest.state.global_step == 9


def test_a_stream_is_padded_to_the_planned_lengths(tmp_path, lengths):
    trainer = streamed(tmp_path, Stream(lengths), {"shapes": "ladder:50/100/300"}, {"max_steps": 40})
    trainer.train()
    assert {length for _, length in trainer.model.shapes} == {50, 100, 300}
    assert all(size * length <= 600 for size, length in trainer.model.shapes)


def test_the_length_of_an_item_of_a_stream_can_be_a_function(tmp_path):
    class Texts(torch.utils.data.IterableDataset):
        def __iter__(self):
            yield from ({"text": "w5 " * number} for number in range(1, 30))

    def collate(rows):
        ids = torch.nn.utils.rnn.pad_sequence([torch.ones(len(row["text"].split())) for row in rows], batch_first=True)
        return {"input_ids": ids, "labels": ids}

    arguments = transformers.TrainingArguments(
        str(tmp_path), max_steps=3, report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no",
        remove_unused_columns=False,
    )  # fmt: skip
    settings = {"budget": "padded:60", "window": 16, "length": lambda item: len(item["text"].split())}
    model = Seen()
    PlannedTrainer(model, arguments, train_dataset=Texts(), data_collator=collate, batches=settings).train()
    assert len(model.seen) == 3 and all(size * length <= 60 for size, length in model.shapes)


def test_what_a_stream_cannot_have_is_said(tmp_path, lengths):
    dataset = Stream(lengths)
    for settings, named in (({"like": 16}, "like"), ({"strategy": "shuffled"}, "strategy"), ({"lengths": lengths}, "lengths")):
        with pytest.raises(SettingError, match=f"a stream does not support `{named}`"):
            streamed(tmp_path, dataset, settings).train()
    with pytest.raises(LengthsError, match="no field 'tokens'") as caught:
        streamed(tmp_path, dataset, {"column": "tokens"}).train()
    assert "input_ids, labels, speaker" in caught.value.hint
    folder = tmp_path / "checkpoint-3"
    folder.mkdir()
    with pytest.raises(StateError, match="how far the stream was read") as caught:
        streamed(tmp_path, dataset).train(resume_from_checkpoint=str(folder))
    assert "ignore_data_skip" in caught.value.hint
    with pytest.raises(SettingError, match="no setting `window`"):
        trained(tmp_path, Items(lengths), own_collate, {"window": 20}).get_train_dataloader()


def test_a_stream_whose_lengths_are_not_known_is_evaluated_without_a_plan(tmp_path, lengths):
    class Numbers(torch.utils.data.IterableDataset):
        def __iter__(self):
            yield from ({"labels": [1, 2], "features": [1.0]} for _ in range(4))

    trainer = streamed(tmp_path, Stream(lengths))
    with pytest.warns(LengthwiseWarning, match="no field of the stream holds lengths"):
        assert trainer._evaluation_of(Numbers()) is None
    assert streamed(tmp_path, Stream(lengths), {"evaluation": False})._evaluation_of(Numbers()) is None
    # A budget that only a dataset with an index can have.
    trainer = trained(tmp_path, Items(lengths), own_collate, {"budget": "dynamic:4"})
    with pytest.warns(LengthwiseWarning, match="cannot be `dynamic:4`"):
        assert trainer._evaluation_of(Stream(lengths)) is None
    with pytest.raises(SettingError, match="cannot be `dynamic:4`"):
        streamed(tmp_path, Stream(lengths), {"evaluation": {"budget": "dynamic:4"}})._evaluation_of(Stream(lengths))


def test_a_dataset_with_an_index_is_evaluated_beside_a_stream(tmp_path, lengths):
    dataset = Items(lengths[:60], ("input_ids", "labels"))
    trainer = streamed(tmp_path, Stream(lengths), {"shapes": "ladder:50/100/300"}, eval_dataset=dataset)
    planned = trainer._evaluation_of(dataset)
    assert len(planned.batches.lengths) == 60
    trainer.evaluate()
    assert len(trainer.model.seen) == len(planned.batches)
    assert sum(map(len, trainer.model.seen)) == 60


class Divides(Model):
    """Takes the number of items of a step, and divides by it if it is told to."""

    def __init__(self, divides: bool) -> None:
        super().__init__()
        self.divides, self.modes = divides, []

    def forward(self, input_ids, attention_mask=None, labels=None, num_items_in_batch=None, **others):
        self.modes.append(self.training)
        losses = self.weight * (labels != -100).float()
        divisor = num_items_in_batch if self.divides and num_items_in_batch is not None else (labels != -100).sum()
        return {"loss": losses.sum() / divisor}


@pytest.mark.parametrize("divides", [True, False])
def test_the_loss_of_a_planned_step_is_a_mean(tmp_path, lengths, divides):
    """Some models of transformers take the number of items and ignore it: the Trainer alone adds up their losses."""
    model = Divides(divides)
    collator = transformers.DataCollatorForSeq2Seq(tokenizer())
    trainer = trained(
        tmp_path, Items(lengths, ("input_ids", "attention_mask", "labels")), collator, {"accumulate": 4},
        {"max_steps": 2, "learning_rate": 0.0}, model,
    )  # fmt: skip
    trainer.train()
    assert trainer.args.gradient_accumulation_steps == 4
    assert trainer.state.log_history[-1]["train_loss"] == pytest.approx(1.0, abs=1e-5)
    assert model.modes[-1]  # It trains again after it was evaluated.
