"""Which weights a sampler gives is said by a word that it knows."""

from __future__ import annotations

import lengthwise as lw
import numpy as np
import pytest

pytest.importorskip("torch")
from lengthwise.torch import BatchSampler


def test_tokens_and_frames_are_positions(lengths):
    sampler = BatchSampler(lengths, budget="padded:600", rank=1, world_size=2)
    positions = sampler.weights("positions")
    for name in ("tokens", "frames"):
        np.testing.assert_array_equal(sampler.weights(name), positions)
    # They are not those of sequences.
    assert (sampler.weights("sequences") != positions).any()


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("token", 'did you mean "tokens"?'),
        ("Positions", 'did you mean "positions"?'),
        ("sequence", 'did you mean "sequences"?'),
        ("second", "second_positions"),
        ("loss", 'use one of "positions", "tokens", "frames", "second_positions", "sequences"'),
        (None, "use one of"),
        (["positions"], ""),
    ],
)
def test_other_words_are_refused(lengths, given, hint):
    sampler = BatchSampler(lengths, budget="padded:600", rank=0, world_size=1)
    with pytest.raises(lw.SettingError, match="weights") as caught:
        sampler.weights(given)
    assert repr(given) in str(caught.value) and hint in caught.value.hint


def test_second_positions_need_second_lengths(lengths):
    with pytest.raises(lw.SettingError, match="second"):
        BatchSampler(lengths, budget="padded:600", rank=0, world_size=1).weights("second_positions")
