"""Rows without padding: TRL's DPOTrainer trains on whole pairs, and its SFTTrainer on planned rows, and the sequences of
a row do not see each other."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
datasets = pytest.importorskip("datasets")
tokenizers = pytest.importorskip("tokenizers")
trl = pytest.importorskip("trl")

from lengthwise import LengthwiseWarning  # noqa: E402
from lengthwise.hf import TrainerMixin, as_rows  # noqa: E402

PAIRS, CAPACITY, EPOCHS = 240, 512, 3
WORDS = {"<pad>": 0, "<eos>": 1, "<unk>": 2, **{f"w{number}": number for number in range(3, 40)}}
#: The first words of a prompt say which pair it is; better answers have other words than worse ones.
NAMES, PROMPT, BETTER, WORSE = range(3, 19), range(19, 24), range(24, 34), range(30, 40)


class PlannedTrainer(TrainerMixin, trl.DPOTrainer):
    pass


def pairs():
    rng = np.random.default_rng(3)

    def text(words, most: int) -> str:
        return " ".join(f"w{word}" for word in rng.choice(words, rng.integers(1, most)))

    return datasets.Dataset.from_list(
        [
            {
                "prompt": f"w{NAMES[pair // 16]} w{NAMES[pair % 16]} {text(PROMPT, 40)} ",
                "chosen": text(BETTER, 60),
                "rejected": text(WORSE, 60),
            }
            for pair in range(PAIRS)
        ]
    )


def small_model(attention="sdpa"):
    torch.manual_seed(5)
    config = transformers.LlamaConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=CAPACITY, pad_token_id=0, eos_token_id=1, bos_token_id=None,
        # Weights so large that much attention is paid: otherwise nobody would notice what leaks.
        initializer_range=0.3, attn_implementation=attention,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def small_tokenizer():
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(WORDS, unk_token="<unk>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def made(folder, attention="sdpa"):
    model = small_model(attention)
    arguments = trl.DPOConfig(
        str(folder), num_train_epochs=EPOCHS, learning_rate=3e-3, use_cpu=True, bf16=False, report_to=[],
        gradient_checkpointing=False, disable_tqdm=True, save_strategy="no", logging_strategy="epoch",
    )  # fmt: skip
    return PlannedTrainer(
        model=model, ref_model=copy.deepcopy(model), args=arguments, train_dataset=pairs(),
        processing_class=small_tokenizer(),
        batches={"strategy": "packed", "budget": f"padded:{CAPACITY}"},
    )  # fmt: skip


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """TRL tells huggingface.co of every trainer that is made."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def test_whole_pairs_are_trained_in_rows(tmp_path):
    trainer = made(tmp_path)
    seen = []

    def see(_, args, given):
        seen.append((given["input_ids"], given["position_ids"]))

    as_rows(trainer.model, trainer.ref_model)
    trainer.model.model.register_forward_pre_hook(see, with_kwargs=True)
    trainer.train()

    items = [trainer.train_dataset[pair] for pair in range(PAIRS)]
    expected = [
        tuple((*item["prompt_ids"], *item[name]) for name in ("chosen_ids", "rejected_ids")) for item in items
    ]
    per_epoch, rest = divmod(len(seen), EPOCHS)
    assert rest == 0
    for epoch in range(EPOCHS):
        found = []
        for ids, positions in seen[epoch * per_epoch : (epoch + 1) * per_epoch]:
            assert ids.shape == positions.shape == (1, ids.numel())
            assert ids.numel() <= CAPACITY
            begins = (positions[0] == 0).nonzero()[:, 0].tolist()
            sequences = [tuple(part.tolist()) for part in torch.tensor_split(ids[0], begins[1:])]
            better, worse = sequences[: len(begins) // 2], sequences[len(begins) // 2 :]
            found += zip(better, worse, strict=True)
        # Both sequences of a pair are in one row, each pair once in an epoch, and there is nothing else.
        assert sorted(found) == sorted(expected)
    # There are about as many rows as are needed.
    assert per_epoch <= 1.2 * sum(len(sequence) for pair in expected for sequence in pair) / CAPACITY

    losses = [log["loss"] for log in trainer.state.log_history if "loss" in log]
    assert len(losses) == EPOCHS
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_nothing_leaks_between_the_sequences_of_a_row(tmp_path, attention):
    trainer = made(tmp_path, attention)
    model = trainer.model
    with torch.no_grad():  # Otherwise every loss is that of a model that has learned nothing.
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    with pytest.warns(LengthwiseWarning, match="the collator pads"):  # The models do not see rows yet.
        trainer.get_train_dataloader()
    rows = [list(row) for row in trainer._planned_batches][:10]

    def loss_and_gradient(numbers):
        batch = trainer.data_collator([trainer.train_dataset[number] for number in numbers])
        model.zero_grad()
        loss = trainer.compute_loss(model, batch)
        loss.backward()
        return loss.item(), torch.cat([weight.grad.flatten() for weight in model.parameters()])

    alone = {pair: loss_and_gradient([pair]) for row in rows for pair in row}
    means = [np.mean([alone[pair][0] for pair in row]) for row in rows]
    as_rows(model, trainer.ref_model)
    for row, mean in zip(rows, means):
        loss, gradient = loss_and_gradient(row)
        assert loss == pytest.approx(mean, abs=1e-4)
        together = torch.stack([alone[pair][1] for pair in row]).mean(0)
        torch.testing.assert_close(gradient, together, atol=1e-4, rtol=1e-3)

    def as_one(_, args, given):
        return args, {**given, "position_ids": torch.arange(given["input_ids"].numel())[None]}

    # A leak would be seen: a row that is one sequence for the model has another loss.
    model.model.register_forward_pre_hook(as_one, with_kwargs=True)
    assert min(abs(loss_and_gradient(row)[0] - mean) for row, mean in zip(rows, means)) > 1e-3


class PlannedSFT(TrainerMixin, trl.SFTTrainer):
    pass


def texts():
    """Texts, each of which names itself by its first words."""
    rng = np.random.default_rng(4)
    return datasets.Dataset.from_list(
        [
            {"text": f"w{NAMES[n // 16]} w{NAMES[n % 16]} " + " ".join(f"w{w}" for w in rng.choice(PROMPT, rng.integers(1, 90)))}
            for n in range(PAIRS)
        ]
    )


def finetuned(folder, attention="sdpa", padding_free=True, **options):
    arguments = trl.SFTConfig(
        str(folder), num_train_epochs=EPOCHS, learning_rate=3e-3, use_cpu=True, bf16=False, report_to=[],
        gradient_checkpointing=False, disable_tqdm=True, save_strategy="no", logging_strategy="epoch", max_length=None,
        padding_free=padding_free,
    )  # fmt: skip
    batches = {"strategy": "packed", "budget": f"padded:{CAPACITY}"}
    return PlannedSFT(
        model=small_model(attention), args=arguments, train_dataset=texts(), processing_class=small_tokenizer(),
        **{"batches": batches, **options},
    )  # fmt: skip


def test_planned_rows_are_finetuned_without_padding(tmp_path):
    trainer = finetuned(tmp_path)
    seen = []

    def see(_, args, given):
        seen.append((given["input_ids"], given["position_ids"], given.get("attention_mask")))

    trainer.model.model.register_forward_pre_hook(see, with_kwargs=True)
    trainer.train()
    expected = sorted(tuple(item["input_ids"]) for item in trainer.train_dataset)
    per_epoch, rest = divmod(len(seen), EPOCHS)
    assert rest == 0
    for epoch in range(EPOCHS):
        found = []
        for ids, positions, mask in seen[epoch * per_epoch : (epoch + 1) * per_epoch]:
            assert mask is None
            assert ids.shape == positions.shape == (1, ids.numel())
            assert ids.numel() <= CAPACITY
            begins = (positions[0] == 0).nonzero()[:, 0].tolist()
            for part, own in zip(*(torch.tensor_split(row[0], begins[1:]) for row in (ids, positions))):
                assert own.tolist() == list(range(len(own)))
                found.append(tuple(part.tolist()))
        # Each sequence once in an epoch, and nothing else: no padding.
        assert sorted(found) == expected
    assert per_epoch <= 1.1 * sum(map(len, expected)) / CAPACITY + 1
    losses = [log["loss"] for log in trainer.state.log_history if "loss" in log]
    assert len(losses) == EPOCHS and losses[-1] < losses[0]


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_the_loss_of_a_row_is_that_of_its_sequences_one_by_one(tmp_path, attention):
    trainer = finetuned(tmp_path, attention)
    model = trainer.model
    trainer.get_train_dataloader()
    rows = [list(row) for row in trainer._planned_batches][:8]
    assert all(len(row) > 1 for row in rows)

    def loss_and_gradient(numbers):
        batch = trainer.data_collator([trainer.train_dataset[number] for number in numbers])
        model.zero_grad()
        loss = trainer.compute_loss(model, batch)
        loss.backward()
        return loss.item(), torch.cat([weight.grad.flatten() for weight in model.parameters()])

    def as_one(_, args, given):
        return args, {**given, "position_ids": torch.arange(given["input_ids"].numel())[None]}

    for row in rows:
        # The first token of a sequence follows from nothing.
        counts = np.array([len(trainer.train_dataset[number]["input_ids"]) - 1 for number in row])
        alone = [loss_and_gradient([number]) for number in row]
        loss, gradient = loss_and_gradient(row)
        mean = np.average([each for each, _ in alone], weights=counts)
        assert loss == pytest.approx(mean, abs=1e-4)
        weights = torch.tensor(counts / counts.sum(), dtype=torch.float32)
        together = (torch.stack([each for _, each in alone]) * weights[:, None]).sum(0)
        torch.testing.assert_close(gradient, together, atol=1e-4, rtol=1e-3)
        # A leak would be seen: a row that is one sequence for the model has another loss.
        hook = model.model.register_forward_pre_hook(as_one, with_kwargs=True)
        assert abs(loss_and_gradient(row)[0] - mean) > 1e-3
        hook.remove()


def test_a_collator_that_pads_planned_rows_is_said(tmp_path):
    trainer = finetuned(tmp_path, padding_free=False)
    with pytest.warns(LengthwiseWarning, match="the collator pads"):
        trainer.get_train_dataloader()
    with warnings.catch_warnings():
        warnings.simplefilter("error", LengthwiseWarning)
        finetuned(tmp_path).get_train_dataloader()
        pairs = made(tmp_path)
        as_rows(pairs.model, pairs.ref_model)
        pairs.get_train_dataloader()


def test_a_collator_that_makes_rows_is_told_of_planned_rows(tmp_path):
    trainer = finetuned(tmp_path, batches={"budget": f"padded:{CAPACITY}"}, eval_dataset=texts())
    with pytest.warns(LengthwiseWarning, match='"strategy": "packed"'):
        trainer.get_train_dataloader()
    # Rows are evaluated as without a plan.
    assert trainer.evaluate()["eval_loss"] == pytest.approx(finetuned(tmp_path, eval_dataset=texts()).evaluate()["eval_loss"])
