use crate::base::rng::{Purpose, Rng};
use crate::base::setting::Setting;
use crate::data::lengths::{Lengths, Pad};
use crate::error::Error;
use crate::limit::capacity::Open;
use crate::limit::resolved::{Fill, Growing, ResolvedBudget};
use crate::order::groups::Groups;
use crate::order::sort;
use crate::shape::rounding::{PairRounding, Staircase};
use crate::strategy::blurred::{LARGEST_NOISE, exponential};
use crate::strategy::group::{AT_LEAST_ONE, Group, Inner, at_least_one, bad};

#[doc = include_str!("paired.md")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// The mean of the noise on both lengths, as a share of the range of lengths in a batch.
    pub blur: f64,
    /// How many stripes of first lengths there are; without it, as many as pad least.
    pub stripes: Option<u32>,
}

const EXPECTED: &str = "a number from 0 to 1000000";

impl Default for Paired {
    fn default() -> Self {
        Self { blur: 0.1, stripes: None }
    }
}

impl Inner for Paired {
    fn read(setting: &mut Setting) -> Result<Self, Error> {
        setting.renamed("spread", "blur");
        let blur = setting.number("blur", EXPECTED)?;
        let stripes = setting.number("stripes", AT_LEAST_ONE)?;
        Ok(Self { blur: blur.unwrap_or(Self::default().blur), stripes })
    }

    fn check(&self) -> Result<(), Error> {
        if !(0.0..=1e6).contains(&self.blur) {
            return Err(bad("paired", "blur", &self.blur, EXPECTED));
        }
        at_least_one("paired", "stripes", self.stripes.unwrap_or(1))
    }
}

impl Group for Paired {
    fn describe(&self) -> String {
        let stripes = self.stripes.map(|stripes| format!(",stripes={stripes}"));
        format!("paired:blur={}{}", self.blur, stripes.unwrap_or_default())
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let (Some(second), Some(rounding)) = (lengths.second(), limit.pair_rounding()) else {
            return Err(Error::NoSecond { what: "strategy `paired`".to_owned() });
        };
        let count = lengths.count();
        // On a grid, a batch is filled with sequences of one shape, and random order mixes most.
        if let PairRounding::Grid(_) = rounding {
            return Ok(Groups::trusted(sort::shuffled(count, rng, Purpose::Shuffle), vec![count]));
        }
        let field = Field::new(lengths, second, limit);
        let field = field.scaled(self.stripes, limit);
        let keys = self.keys(&field, lengths, second, rng);
        let mut order = if self.blur == 0.0 {
            let mut order = (0..count).collect::<Vec<_>>();
            sort::by_key(&mut order, |sequence| lengths.of(sequence));
            order
        } else {
            sort::shuffled(count, rng, Purpose::Shuffle)
        };
        sort::by_key(&mut order, |sequence| keys[sequence as usize]);
        Ok(Groups::trusted(order, vec![count]).short_anywhere(rng))
    }
}

impl Paired {
    /// The key of every sequence: its stripe in the highest bits, and below them its place in the
    /// stripe, which rises in one and falls in the next.
    fn keys(&self, field: &Field, first: &Lengths, second: &Lengths, rng: &Rng) -> Vec<u32> {
        let border = if self.blur == 0.0 {
            0.0
        } else {
            f64::from(rng.stream(Purpose::Borders).next_u32()) / 2_f64.powi(32)
        };
        let [most, widest] = field.most();
        let stripes = 2.0 + most * (1.0 + self.blur * LARGEST_NOISE);
        let bits = u32::BITS - (stripes.min(f64::from(MOST_STRIPES)) as u32).leading_zeros();
        let highest = f64::from(second.max()) + self.blur * widest * LARGEST_NOISE;
        let inside = u32::MAX >> bits;
        let stretch = f64::from(inside) / (highest + 1.0);
        let noise = rng.words(Purpose::Noise, first.count());
        let second_noise = rng.words(Purpose::SecondNoise, first.count());
        let both = first.as_slice().iter().zip(second.as_slice());
        both.zip(noise.zip(second_noise))
            .map(|((&a, &b), (noise, second_noise))| {
                let here = field.at(a);
                let [across, along] =
                    [noise, second_noise].map(|word| self.blur * exponential(word));
                let stripe = (here.place + border + here.across * across) as u32;
                let stripe = stripe.min((1 << bits) - 1);
                let place = ((f64::from(b) + here.along * along) * stretch) as u32;
                let place = place.min(inside);
                let turned = if stripe.is_multiple_of(2) { place } else { inside - place };
                stripe << (u32::BITS - bits) | turned
            })
            .collect()
    }
}

/// What is known at every first length: how wide stripes should be.
///
/// Let ρ be the number of sequences per first length, s the range of second lengths, and n the batch
/// size. Batches in a stripe of width w span n·s / (ρ·w) second lengths. Each sequence is padded by
/// half of both, and that is least if both are equal: w = √(n·s / ρ). Stripes are that wide at every
/// first length; one factor for all of them is searched for.
struct Field {
    /// Where each distinct first length is.
    steps: Staircase,
    here: Vec<Here>,
    /// All sequences by first length.
    order: Vec<u32>,
}

/// What is known at one first length.
#[derive(Clone, Copy, Debug)]
struct Here {
    /// The stripe it is in, and where in it.
    place: f64,
    /// What a batch spans across stripes, in stripes.
    across: f64,
    /// What a batch spans along a stripe, in second lengths.
    along: f64,
}

/// Sums over sequences: how many, both lengths, their squares and product.
type Sums = [f64; 6];

impl Field {
    fn new(first: &Lengths, second: &Lengths, limit: &ResolvedBudget) -> Self {
        let histogram = first.histogram();
        let distinct = histogram.iter().map(|&(length, _)| length);
        let steps = Staircase::new(distinct.collect(), first);
        let mut order: Vec<u32> = (0..first.count()).collect();
        sort::by_key(&mut order, |sequence| first.of(sequence));
        // Numbers stay small if they are taken from the middle.
        let middles = [first.mean(), second.mean()];
        let mut upto = vec![Sums::default(); histogram.len() + 1];
        for (&a, &b) in first.as_slice().iter().zip(second.as_slice()) {
            let sums = &mut upto[steps.of(a) as usize + 1];
            let [a, b] = [f64::from(a) - middles[0], f64::from(b) - middles[1]];
            for (sum, more) in sums.iter_mut().zip([1.0, a, b, a * a, a * b, b * b]) {
                *sum += more;
            }
        }
        for at in 1..upto.len() {
            upto[at] = std::array::from_fn(|sum| upto[at][sum] + upto[at - 1][sum]);
        }
        let window = (first.len() / 200).max(8) as f64;
        // The window at a first length reaches so many sequences down from its middle, and up.
        let (mut low, mut high) = (0, 0);
        let (mut place, mut before) = (0.0, histogram[0].0);
        let here = histogram.iter().enumerate().map(|(at, &(length, _))| {
            let middle = f64::midpoint(upto[at][0], upto[at + 1][0]);
            while low < at && upto[low + 1][0] <= middle - window {
                low += 1;
            }
            while high <= at || (high < histogram.len() && upto[high][0] < middle + window) {
                high += 1;
            }
            let [count, a, b, aa, ab, bb] =
                std::array::from_fn(|sum| upto[high][sum] - upto[low][sum]);
            let [a, b, aa, ab, bb] = [a, b, aa, ab, bb].map(|sum| sum / count);
            let (var_a, cov, var_b) = (aa - a * a, ab - a * b, bb - b * b);
            // What is left of the variation when the mean rises with the first length.
            let explained = if var_a > 0.0 { cov * cov / var_a } else { 0.0 };
            let blur = (12.0 * (var_b - explained).max(0.0)).sqrt();
            let span = f64::from(histogram[high - 1].0 - histogram[low].0) + 1.0;
            let density = count / span;
            let mean = (middles[1] + b).round().max(1.0) as u32;
            let full = limit.full_of(limit.covered(Pad { first: length, second: mean }));
            let full = f64::from(full.min(first.count()));
            // Two stripes from one first length to the next are as far as any, so stripes are no
            // narrower than half of that: else a batch would seem to span more of them than it does.
            let gap = span / (high - low) as f64;
            let width = (full * blur / density).sqrt().max(gap / 2.0);
            place += (f64::from(length - before) / width).min(2.0);
            before = length;
            Here { place, across: (full / (density * width)).max(1.0), along: width }
        });
        let here = here.collect();
        Self { steps, here, order }
    }

    /// What is known at the first length of a sequence.
    fn at(&self, length: u32) -> Here {
        self.here[self.steps.of(length) as usize]
    }

    /// The last place, with what a batch spans across at most, and what it spans along at most.
    fn most(&self) -> [f64; 2] {
        let across = self.here.iter().map(|here| here.across).fold(1.0, f64::max);
        let along = self.here.iter().map(|here| here.along).fold(0.0, f64::max);
        [self.last_place() + across, along]
    }

    fn last_place(&self) -> f64 {
        self.here.last().map_or(0.0, |here| here.place)
    }

    /// With so many stripes, or as many as are found to pad least.
    fn scaled(self, stripes: Option<u32>, limit: &ResolvedBudget) -> Self {
        let last = self.last_place();
        if last == 0.0 {
            return self;
        }
        let factor = match stripes {
            // The last place begins the last stripe.
            Some(stripes) => (f64::from(stripes) - 0.5) / last,
            None => self.best(limit),
        };
        self.times(factor.min(f64::from(MOST_STRIPES - 2) / last))
    }

    /// With stripes that are narrower by this factor.
    fn times(mut self, factor: f64) -> Self {
        for here in &mut self.here {
            here.place *= factor;
            here.across = (here.across * factor).max(1.0);
            here.along *= factor;
        }
        self
    }

    /// The factor of least padding: it goes up, or else down, as long as that gets better.
    fn best(&self, limit: &ResolvedBudget) -> f64 {
        let mut least = self.predicted(1.0, limit);
        for step in [1, -1] {
            let mut best = 0;
            while best != 8 * step {
                let padding = self.predicted(power_of(best + step), limit);
                if padding >= least {
                    break;
                }
                (best, least) = (best + step, padding);
            }
            if best != 0 {
                return power_of(best);
            }
        }
        1.0
    }

    /// The cells of every position that is not padding, without noise, if places are stretched by
    /// this factor: of all sequences, or of stretches of them by first length.
    fn predicted(&self, factor: f64, limit: &ResolvedBudget) -> f64 {
        let count = self.order.len();
        let size = (count / 64).clamp(LEAST, MOST);
        let (stretches, size) =
            if STRETCHES * size >= count { (1, count) } else { (STRETCHES, size) };
        let (mut cells, mut filled) = (0_u64, 0_u64);
        for stretch in 0..stretches {
            let start = (count - size) * stretch / (stretches - 1).max(1);
            let mut keyed: Vec<(u64, u32)> = self.order[start..start + size]
                .iter()
                .map(|&sequence| {
                    let Pad { first, second } = limit.lengths_of(sequence);
                    let stripe = (self.at(first).place * factor) as u64;
                    let second = if stripe.is_multiple_of(2) { second } else { !second };
                    (stripe << 32 | u64::from(second), sequence)
                })
                .collect();
            keyed.sort_unstable();
            let order: Vec<u32> = keyed.into_iter().map(|(_, sequence)| sequence).collect();
            let grow = |open: Open, place: usize| limit.grown(open, order[place]);
            let fill = Growing { limit, grow };
            let mut start = 0;
            while start < order.len() {
                let batch = fill.first(start..order.len());
                cells = cells.saturating_add(batch.pad().cells(batch.size));
                start += batch.size as usize;
            }
            filled +=
                order.iter().map(|&sequence| limit.lengths_of(sequence).cells(1)).sum::<u64>();
        }
        cells as f64 / filled as f64
    }
}

/// A power of 5/4, which are the factors that are tried: by multiplication, so that it is the same to the
/// bit on every machine.
fn power_of(power: i32) -> f64 {
    (0..power.abs()).fold(1.0, |factor, _| if power > 0 { factor * 1.25 } else { factor * 0.8 })
}

/// Of many sequences, so many stretches of at least and at most so many are looked at.
const STRETCHES: usize = 8;
const LEAST: usize = 4096;
const MOST: usize = 16_384;

/// No more stripes than this: their places in the key leave room for second lengths.
const MOST_STRIPES: u32 = 1 << 15;
