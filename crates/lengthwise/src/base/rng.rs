//! The only source of randomness: Philox4x32-10, a counter-based generator.
//!
//! A counter-based generator is a keyed hash of a counter: word `i` of a stream can be computed
//! without the words before it, on any machine, by any thread, in any order. The user's seed is the
//! key; epoch and [`Purpose`] are part of the counter, so the streams of two epochs or two purposes
//! are different parts of one permutation and can never overlap, as those of `seed + epoch` do.
//!
//! Reference: Salmon, Moraes, Dror, Shaw, *Parallel random numbers: as easy as 1, 2, 3*, SC 2011.

/// Writes [`Purpose`] from one list, of each what it is for and its number in counters.
macro_rules! purposes {
    ($(#[$about:meta])* pub enum $name:ident { $($purpose:ident = $code:literal: $what:literal,)* }) => {
        $(#[$about])*
        pub enum $name {
            $(#[doc = $what] $purpose,)*
            /// A strategy of the user's own.
            Own(u16),
        }

        impl $name {
            fn code(self) -> u32 {
                match self {
                    $(Self::$purpose => $code,)*
                    Self::Own(number) => 0x1_0000 + u32::from(number),
                }
            }
        }
    };
}

purposes! {
/// What a stream of random numbers is for. Two purposes never share numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    Shuffle = 1: "The shuffled order that most strategies begin with.",
    Ties = 2: "The order of equal lengths, where the shuffle is used for something else.",
    Noise = 3: "The noise that is added to lengths.",
    Direction = 4: "Directions in which batches grow.",
    Draw = 5: "The drawing of batches from buckets.",
    Arrange = 6: "The order of the batches in the epoch.",
    Example = 7: "The lengths of the built-in examples.",
    Cycle = 8: "What stays the same for a cycle of several epochs.",
    Halves = 9: "Which of two halves of the batches comes first, and how far from the mean the sum begins.",
    Match = 10: "Which batches of the strata of length meet in a step.",
    Swap = 11: "Which batches of two steps change places.",
    Assign = 12: "Which rank takes which batch of a step.",
    Stream = 13: "The key of a stream of sequences.",
    Arrival = 14: "The order of equal lengths in a stream.",
    Quantile = 15: "Around which quantile of lengths a step of a stream begins to grow.",
    Offset = 16: "Where the batches of a step of a stream are cut, and which rank takes which.",
    Shard = 17: "What differs from shard to shard.",
    SecondNoise = 18: "The noise that is added to second lengths.",
    Borders = 19: "Where the borders between stripes of first lengths are.",
    Short = 20: "Which batch of an order is the short one.",
    Start = 21: "Where the circle of all batches is cut, so that it becomes the order of the epoch.",
    Class = 22: "What differs between kinds of sequences, and between groups of different sizes.",
    Mix = 23: "Which groups of a kind an epoch has, if it has not all of them.",
}
}

/// The randomness of one epoch: a seed and an epoch, from which streams are taken.
///
/// ```
/// use lengthwise::custom::{Purpose, Rng};
///
/// let rng = Rng::new(42, 0);
/// let dice: Vec<u32> = {
///     let mut stream = rng.stream(Purpose::Own(0));
///     (0..5).map(|_| 1 + stream.below(6)).collect()
/// };
/// assert_eq!(dice, [3, 6, 4, 2, 2]); // on every machine
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rng {
    seed: u64,
    epoch: u64,
    turn: u32,
}

impl Rng {
    /// The randomness of `epoch` under `seed`.
    pub const fn new(seed: u64, epoch: u64) -> Self {
        Self { seed, epoch, turn: 0 }
    }

    /// The randomness of another turn at the same epoch, which shares no numbers with others.
    pub(crate) const fn at_turn(self, turn: u32) -> Self {
        Self { turn, ..self }
    }

    /// The randomness of one shard: its seed is two words of a stream that is for nothing else.
    pub(crate) fn at_shard(self, shard: u32) -> Self {
        let root = Self::new(self.seed, 0);
        let [low, high, ..] = root.block(Purpose::Shard.code(), shard);
        Self { seed: u64::from(high) << 32 | u64::from(low), ..self }
    }

    /// The randomness of one of several classes of sequences that are planned apart; of the first, this one.
    pub(crate) fn at_class(self, class: u32) -> Self {
        if class == 0 {
            return self;
        }
        let [low, high, ..] = Self::new(self.seed, 0).block(Purpose::Class.code(), class);
        Self { seed: u64::from(high) << 32 | u64::from(low), ..self }
    }

    /// The epoch.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The randomness of another epoch under the same seed.
    #[must_use]
    pub const fn at_epoch(self, epoch: u64) -> Self {
        Self { epoch, ..self }
    }

    /// The stream for one purpose, from its beginning.
    pub fn stream(&self, purpose: Purpose) -> Stream {
        Stream { rng: *self, purpose: purpose.code(), next_block: 0, words: [0; 4], used: 4 }
    }

    /// The first `count` words of a stream: word `i` belongs to sequence `i`.
    pub fn words(self, purpose: Purpose, count: u32) -> impl Iterator<Item = u32> {
        let purpose = purpose.code();
        (0..count.div_ceil(4))
            .flat_map(move |block| self.block(purpose, block))
            .take(count as usize)
    }

    /// Word `index` of a stream.
    pub(crate) fn word(&self, purpose: Purpose, index: u32) -> u32 {
        self.block(purpose.code(), index / 4)[index as usize % 4]
    }

    /// The words of a stream from `first` on, which is a multiple of four: what [`Rng::words`] gives,
    /// several blocks at a time.
    #[inline(always)]
    pub(crate) fn fill(&self, purpose: Purpose, first: u32, words: &mut [u32; CHUNK]) {
        let counter =
            [purpose.code() | self.turn << 20, self.epoch as u32, (self.epoch >> 32) as u32];
        philox_chunk(first / 4, counter, [self.seed as u32, (self.seed >> 32) as u32], words);
    }

    fn block(&self, purpose: u32, block: u32) -> [u32; 4] {
        philox(
            // Purposes have fewer than 20 bits.
            [block, purpose | self.turn << 20, self.epoch as u32, (self.epoch >> 32) as u32],
            [self.seed as u32, (self.seed >> 32) as u32],
        )
    }
}

/// One stream of random numbers, read from its beginning.
#[derive(Clone, Debug)]
pub struct Stream {
    rng: Rng,
    purpose: u32,
    next_block: u32,
    words: [u32; 4],
    used: usize,
}

impl Stream {
    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.used == self.words.len() {
            self.words = self.rng.block(self.purpose, self.next_block);
            self.next_block = self.next_block.wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        self.words[self.used - 1]
    }

    /// A random integer below `bound`, every one equally likely (Lemire 2019: multiply, and draw
    /// again in the rare case that would make some results likelier).
    ///
    /// # Panics
    ///
    /// When `bound` is zero: there is no such integer.
    pub fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "no integer is below zero");
        let mut product = u64::from(self.next_u32()) * u64::from(bound);
        if (product as u32) < bound {
            let unfair = bound.wrapping_neg() % bound;
            while (product as u32) < unfair {
                product = u64::from(self.next_u32()) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }
}

/// How many words are made together.
pub(crate) const CHUNK: usize = 64;

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Ten rounds of Philox on several counters side by side, which differ in the first word: it begins
/// at `block` and rises.
#[inline(always)]
fn philox_chunk(block: u32, rest: [u32; 3], mut key: [u32; 2], words: &mut [u32; CHUNK]) {
    const LANES: usize = CHUNK / 4;
    let mut a: [u32; LANES] = std::array::from_fn(|lane| block.wrapping_add(lane as u32));
    let [mut b, mut c, mut d] = rest.map(|word| [word; LANES]);
    for _ in 0..10 {
        let mut next = [[0; LANES]; 4];
        for lane in 0..LANES {
            let low = u64::from(MULTIPLIERS[0]) * u64::from(a[lane]);
            let high = u64::from(MULTIPLIERS[1]) * u64::from(c[lane]);
            next[0][lane] = (high >> 32) as u32 ^ b[lane] ^ key[0];
            next[1][lane] = high as u32;
            next[2][lane] = (low >> 32) as u32 ^ d[lane] ^ key[1];
            next[3][lane] = low as u32;
        }
        [a, b, c, d] = next;
        key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
    }
    for (lane, words) in words.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *words = [a[lane], b[lane], c[lane], d[lane]];
    }
}

/// Ten rounds of Philox on a counter of four words under a key of two.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(MULTIPLIERS[0]) * u64::from(counter[0]);
        let b = u64::from(MULTIPLIERS[1]) * u64::from(counter[2]);
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
        key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers published with the generator (Random123, `kat_vectors`).
    #[test]
    fn philox_gives_the_published_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn words_are_the_stream_by_index() {
        let rng = Rng::new(7, 3);
        let mut stream = rng.stream(Purpose::Noise);
        let read: Vec<u32> = (0..11).map(|_| stream.next_u32()).collect();
        assert_eq!(rng.words(Purpose::Noise, 11).collect::<Vec<_>>(), read);
    }

    #[test]
    fn chunks_and_single_words_are_the_stream() {
        let rng = Rng::new(0x0123_4567_89ab_cdef, 1 << 40).at_turn(3);
        let read: Vec<u32> = rng.words(Purpose::Noise, 300).collect();
        let mut words = [0; CHUNK];
        for first in [0, 4, 64, 200] {
            rng.fill(Purpose::Noise, first, &mut words);
            assert_eq!(words, read[first as usize..][..CHUNK]);
        }
        for index in [0, 1, 2, 3, 4, 77, 299] {
            assert_eq!(rng.word(Purpose::Noise, index), read[index as usize]);
        }
    }

    #[test]
    fn seed_and_epoch_are_mixed_not_added() {
        let first = |seed, epoch| Rng::new(seed, epoch).stream(Purpose::Shuffle).next_u32();
        assert_ne!(first(1, 1), first(2, 0));
        assert_ne!(first(1, 1), first(0, 2));
        assert_ne!(first(1, 1), first(1, 1 << 32));
        assert_ne!(first(1, 1), first(1 + (1 << 32), 1));
    }

    #[test]
    fn shards_are_mixed_not_added() {
        let first = |seed, epoch, shard| {
            Rng::new(seed, epoch).at_shard(shard).stream(Purpose::Shuffle).next_u32()
        };
        assert_ne!(first(1, 0, 1), first(2, 0, 0));
        assert_ne!(first(1, 0, 1), first(0, 0, 2));
        assert_ne!(first(1, 1, 0), first(1, 0, 1));
        assert_ne!(first(1, 0, 0), Rng::new(1, 0).stream(Purpose::Shuffle).next_u32());
        let rng = Rng::new(4, 9).at_turn(3);
        assert_eq!((rng.at_shard(7).epoch, rng.at_shard(7).turn), (9, 3));
    }

    /// With a bound of 3·2³⁰ a plain multiplication would give a third of the integers twice as
    /// often as the others.
    #[test]
    fn integers_below_a_bound_are_equally_likely() {
        let mut stream = Rng::new(0, 0).stream(Purpose::Own(1));
        let (bound, draws) = (3 << 30, 90_000);
        let mut by_third = [0_u32; 3];
        for _ in 0..draws {
            by_third[(stream.below(bound) % 3) as usize] += 1;
        }
        let expected = f64::from(draws) / 3.0;
        let chi_square: f64 =
            by_third.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        // Two degrees of freedom: 1 in 10,000 generators would exceed this.
        assert!(chi_square < 18.4, "{by_third:?}");
    }
}
