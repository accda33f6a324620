"""Lightning in one process: resuming at every place of an epoch, and what a plain loader is told."""

from __future__ import annotations

import logging

import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning")
pytest.importorskip("torchdata")

from lengthwise import SettingError  # noqa: E402
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
    """Saves after a step, or at the end of an epoch."""

    def __init__(self, path, step=None, epoch=None) -> None:
        self.path, self.step, self.epoch = path, step, epoch

    def on_train_batch_end(self, trainer, module, outputs, batch, number):
        if trainer.global_step == self.step:
            trainer.save_checkpoint(self.path)

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
        sampler = BatchSampler(lengths, budget=BUDGET, rank=0, world_size=1)
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
    sampler = BatchSampler(lengths, budget=BUDGET, rank=0, world_size=1)
    batches = loader(items, sampler, num_workers=workers)
    begun = iter(batches)
    assert len(begun) == len(batches)
    sampler.set_epoch(1)
    expected = [[int(index) for index in batch] for batch in sampler.plan]
    assert [[int(value) for value in values[:, 0]] for values, _ in begun] == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_after_a_state_from_the_end_comes_the_next_epoch(lengths, items, workers):
    def made():
        sampler = BatchSampler(lengths, budget=BUDGET, rank=0, world_size=1)
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
        sampler = BatchSampler(lengths, budget=BUDGET, rank=0, world_size=1)
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
