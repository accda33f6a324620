mod field;

use crate::base::rng::{Purpose, Rng};
use crate::base::setting::Setting;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::sort;
use crate::shape::rounding::PairRounding;
use crate::strategy::blurred::{LARGEST_NOISE, exponential};
use crate::strategy::group::{AT_LEAST_ONE, Group, Inner, at_least_one, bad};
use crate::strategy::paired::field::{Field, MOST_STRIPES};

#[doc = include_str!("paired.md")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// The mean of the noise on both lengths, as a share of what a batch spans.
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
            return Err(bad("paired", "blur", self.blur, EXPECTED));
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
        // On a grid each sequence waits at its own shape, and random order gives the most company.
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
