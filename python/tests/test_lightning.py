"""Lightning in one process: resuming at every place of an epoch, and what a plain loader is told."""

from __future__ import annotations

import logging

import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning")
pytest.importorskip("torchdata")

import lengthwise as lw  # noqa: E402
from lengthwise import SettingError  # noqa: E402
from lengthwise.lightning import PlannedAccumulation  # noqa: E402
from lengthwise.torch import BatchSampler, loader, pad_collate  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

BUDGET = "padded:600"


class Module(lightning.LightningModule):
    def __init__(self, make) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.make, self.seen = make, []

    def training_step(self, batch, number):
        values, _ = batch
        self.seen.append((self.current_epoch, [int(value) for value in values[:, 0]]))
        return self.layer(values[..., None]).mean() * 1e-9

    def forward(self, values):
        return self.layer(values[..., None])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-9)

    def train_dataloader(self):
        return self.make()


class Save(lightning.Callback):
    """Saves after a step, or some batches later, or at the end of an epoch."""

    def __init__(self, path, step=None, epoch=None, later=0) -> None:
        self.path, self.step, self.epoch, self.later = path, step, epoch, later

    def on_train_batch_end(self, trainer, module, outputs, batch, number):
        if trainer.global_step == self.step:
            if self.later == 0:
                trainer.save_checkpoint(self.path)
            self.later -= 1

    def on_train_epoch_end(self, trainer, module):
        if trainer.current_epoch == self.epoch:
            trainer.save_checkpoint(self.path)


def fit(tmp_path, make, epochs=3, checkpoint=None, callbacks=()):
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    module = Module(make)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, max_epochs=epochs, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, callbacks=list(callbacks),
        default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(module, ckpt_path=checkpoint)
    return module.seen


@pytest.fixture
def items(lengths):
    return [torch.full((int(length),), float(index)) for index, length in enumerate(lengths)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("workers", [0, 2])
def test_it_resumes_at_the_end_of_an_epoch_and_around_it(tmp_path, lengths, items, workers):
    def make():
        sampler = BatchSampler(lengths, "shuffled", budget=BUDGET, rank=0, world_size=1)
        return loader(items, sampler, num_workers=workers)

    places = {"before": {"step": -1}, "last": {"step": 0}, "end": {"epoch": 0}, "after": {"step": 1}}
    count = len(make())
    callbacks = []
    for name, where in places.items():
        where = {key: value + count if key == "step" else value for key, value in where.items()}
        callbacks.append(Save(tmp_path / f"{name}.ckpt", **where))
    whole = fit(tmp_path, make, callbacks=callbacks)
    assert [epoch for epoch, _ in whole] == [epoch for epoch in range(3) for _ in range(count)]
    for name, where in places.items():
        rest = fit(tmp_path, make, checkpoint=tmp_path / f"{name}.ckpt")
        assert rest == whole[count + where.get("step", 0) :], name


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_begins_the_epoch_that_is_chosen_after_its_iterator_was_made(lengths, items, workers):
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET, rank=0, world_size=1)
    batches = loader(items, sampler, num_workers=workers)
    begun = iter(batches)
    assert len(begun) == len(batches)
    sampler.set_epoch(1)
    expected = [[int(index) for index in batch] for batch in sampler.plan]
    assert [[int(value) for value in values[:, 0]] for values, _ in begun] == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_after_a_state_from_the_end_comes_the_next_epoch(lengths, items, workers):
    def made():
        sampler = BatchSampler(lengths, "shuffled", budget=BUDGET, rank=0, world_size=1)
        return sampler, loader(items, sampler, num_workers=workers)

    def taken(batches):
        return [[int(value) for value in values[:, 0]] for values, _ in batches]

    sampler, batches = made()
    taken(batches)
    state = batches.state_dict()
    expected = taken(batches)
    sampler, batches = made()
    batches.load_state_dict(state)
    assert batches.state_dict() == state
    assert taken(batches) == expected
    assert sampler.epoch == 1
    # Another epoch that is chosen begins at its beginning.
    sampler, batches = made()
    batches.load_state_dict(state)
    sampler.set_epoch(5)
    assert len(taken(batches)) == len(batches)
    assert sampler.epoch == 5


@pytest.mark.parametrize("framework", ["lightning", "fabric"])
def test_a_plain_loader_is_told_what_to_use(tmp_path, lengths, items, framework):
    def make():
        sampler = BatchSampler(lengths, "shuffled", budget=BUDGET, rank=0, world_size=1)
        return DataLoader(items, batch_sampler=sampler, collate_fn=pad_collate(sampler))

    if framework == "lightning":
        # Lightning makes samplers anew by default where it has several processes, and always to predict.
        trainer = lightning.Trainer(
            accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
        )  # fmt: skip
        with pytest.raises(SettingError) as refused:
            trainer.predict(Module(make), make())
    else:
        from lightning.fabric.utilities.data import _update_dataloader

        with pytest.raises(SettingError) as refused:
            _update_dataloader(make(), torch.utils.data.SequentialSampler(items))
    for remedy in ("lengthwise.torch.loader(", "use_distributed_sampler=False"):
        assert remedy in str(refused.value)


UPDATE = {"strategy": "proportional", "update": "tokens:3000"}
#: Lightning 2.4 counts one batch too few in a checkpoint that is saved at the end of a batch.
OLD = tuple(map(int, lightning.__version__.split(".")[:2])) < (2, 5)


class Weighed(Module):
    """Notes the gradient of every optimizer step, and what it should be."""

    def __init__(self, make, accumulation=None) -> None:
        super().__init__(make)
        self.accumulation, self.batches, self.gradients = accumulation, [], []
        self.estimated = None

    def training_step(self, batch, number):
        super().training_step(batch, number)
        values, counts = batch
        mask = torch.arange(values.shape[1]) < counts[:, None]
        places = torch.arange(values.shape[1]) / 300
        self.batches.append((float((mask * places).sum()), int(counts.sum())))
        loss = (self.layer(values[..., None] * 0 + places[:, None])[..., 0] * mask).sum() / counts.sum()
        return loss * (1 if self.accumulation is None else self.accumulation.weight)

    def on_before_optimizer_step(self, optimizer):
        self.gradients.append(self.layer.weight.grad.item())

    def configure_optimizers(self):
        self.estimated = self.trainer.estimated_stepping_batches
        return super().configure_optimizers()


def trainer_of(tmp_path, **options):
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    return lightning.Trainer(
        accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=tmp_path, **{"max_epochs": 2, **options},
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning:lightning")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_plan_decides_how_many_batches_are_accumulated(tmp_path, lengths, items, workers):
    sampler = BatchSampler(lengths, budget=BUDGET, rank=0, world_size=1, **UPDATE)

    def make():
        again = BatchSampler(lengths, budget=BUDGET, rank=0, world_size=1, **UPDATE)
        return loader(items, again, num_workers=workers)

    each = sampler.accumulate
    steps = len(sampler) // each
    assert each > 1

    def means(module):
        parts = [module.batches[place : place + each] for place in range(0, len(module.batches), each)]
        return [sum(total for total, _ in part) / sum(count for _, count in part) for part in parts]

    accumulation = PlannedAccumulation()
    module = Weighed(make, accumulation)
    between, inside = tmp_path / "between.ckpt", tmp_path / "inside.ckpt"
    saves = [Save(between, step=steps + 2), Save(inside, step=steps + 2, later=1)]
    trainer = trainer_of(tmp_path, callbacks=[accumulation, *saves])
    trainer.fit(module)
    assert trainer.accumulate_grad_batches == each
    assert trainer.global_step == module.estimated == 2 * steps
    assert module.gradients == pytest.approx(means(module), rel=1e-4)
    with pytest.raises(lw.LengthwiseError, match="outside of training"):
        accumulation.weight  # noqa: B018
    # The number can also be given.
    trainer = trainer_of(tmp_path, accumulate_grad_batches=each)
    trainer.fit(Weighed(make))
    assert trainer.global_step == 2 * steps
    # It resumes in the middle of an epoch, with the right weights.
    accumulation = PlannedAccumulation()
    again = Weighed(make, accumulation)
    trainer = trainer_of(tmp_path, callbacks=[accumulation])
    if OLD:
        with pytest.warns(lw.LengthwiseWarning, match="this release miscounts"):
            trainer.fit(again, ckpt_path=between)
        return
    trainer.fit(again, ckpt_path=between)
    assert again.seen == module.seen[(steps + 2) * each :]
    assert again.gradients == pytest.approx(module.gradients[steps + 2 :], rel=1e-4)
    accumulation = PlannedAccumulation()
    with pytest.warns(lw.LengthwiseWarning, match=f"the gradients of 1 of its {each} batches are lost"):
        trainer_of(tmp_path, callbacks=[accumulation]).fit(Weighed(make, accumulation), ckpt_path=inside)


@pytest.mark.filterwarnings("ignore::UserWarning:lightning")
def test_another_number_of_accumulated_batches_is_refused(tmp_path, lengths, items):
    def make(**settings):
        return loader(items, BatchSampler(lengths, **{"strategy": "shuffled", "budget": BUDGET, "rank": 0, "world_size": 1, **settings}))

    each = make(**UPDATE).batch_sampler.accumulate
    for options in ({}, {"accumulate_grad_batches": each + 1}, {"accumulate_grad_batches": 2 * each}):
        with pytest.raises(SettingError, match=f"planned with {each} batches") as refused:
            trainer_of(tmp_path, **options).fit(Weighed(lambda: make(**UPDATE)))
        assert f"`accumulate_grad_batches={each}`" in refused.value.hint
        assert "PlannedAccumulation()" in refused.value.hint
    with pytest.raises(SettingError, match=f"`accumulate_grad_batches` is {each + 1}"):
        trainer = trainer_of(tmp_path, accumulate_grad_batches=each + 1, callbacks=[PlannedAccumulation()])
        trainer.fit(Weighed(lambda: make(**UPDATE)))
    # A plan of single batches leaves it to Lightning.
    trainer = trainer_of(tmp_path, accumulate_grad_batches=2)
    trainer.fit(Weighed(make))
    # Evaluation takes no optimizer steps.
    trainer_of(tmp_path).validate(Validated(make), make(**UPDATE))
    # A module that optimizes by hand counts for itself.
    module = Weighed(lambda: make(**UPDATE))
    module.automatic_optimization = False
    trainer_of(tmp_path, max_epochs=1).fit(module)
    with pytest.raises(SettingError, match="optimizes by hand"):
        trainer_of(tmp_path, callbacks=[PlannedAccumulation()]).fit(module)
    with pytest.raises(SettingError, match="expected a loader of planned batches"):
        trainer_of(tmp_path, callbacks=[PlannedAccumulation()]).fit(Weighed(lambda: DataLoader(items)))


class Validated(Module):
    def validation_step(self, batch, number):
        return None
