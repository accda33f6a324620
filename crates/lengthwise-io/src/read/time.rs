//! Seconds become frames. A duration is divided by the frame shift or multiplied by the rate, and
//! goes to the nearest whole number, halves upwards, but never below 1.

use crate::error::Error;
use crate::read::number::Reason;

/// How many frames, or samples, a second has.
///
/// Where one is given, every number in the column is taken for seconds, whole or not: a manifest
/// writes three seconds as `3` as often as `3.0`, and they must not become three frames.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Time {
    /// Seconds from one frame to the next, such as 0.01.
    FrameShift(f64),
    /// Frames or samples a second, such as 100 or 16000.
    Rate(f64),
}

/// Three roundings lie between the decimals in the file and the quotient: of the duration, of the
/// frame shift and of the division. Each is off by at most 2⁻⁵³ of the value. A quotient that is
/// this close below a half is a half, as it is on paper: 1.005 s at 0.01 s are 100.5 frames.
const SLACK: f64 = f64::EPSILON * 2.0;

impl Time {
    pub(crate) fn check(self) -> Result<(), Error> {
        let (name, value, hint) = match self {
            Time::FrameShift(value) => ("frame shift", value, "seconds from frame to frame"),
            Time::Rate(value) => ("rate", value, "frames or samples per second"),
        };
        if value.is_finite() && value > 0.0 {
            return Ok(());
        }
        Err(Error::new(format!("the {name} is {value}, which is not a number above 0"))
            .hint_with("give the {}, such as {frame-shift=0.01} or {rate=100}", &[hint]))
    }

    pub(crate) fn frames(self, seconds: f64) -> Result<u32, Reason> {
        if !seconds.is_finite() {
            return Err(Reason::NotFinite);
        }
        if seconds < 0.0 {
            return Err(Reason::Negative);
        }
        if seconds == 0.0 {
            return Err(Reason::Zero);
        }
        let frames = match self {
            Time::FrameShift(shift) => seconds / shift,
            Time::Rate(rate) => seconds * rate,
        };
        let nearest = (frames * (1.0 + SLACK) + 0.5).floor();
        if nearest > f64::from(u32::MAX) {
            Err(Reason::TooLarge)
        } else {
            Ok((nearest as u32).max(1))
        }
    }

    /// The frames of as many samples. Whole rates are divided as whole numbers, without rounding
    /// on the way: an hour at 44.1 kHz has more samples than a float32 can count.
    pub(crate) fn resample(self, samples: u64, rate: u32) -> Result<u32, Reason> {
        if let Time::Rate(wanted) = self
            && wanted.fract() == 0.0
            && wanted <= f64::from(u32::MAX)
        {
            let (rate, twice) = (u128::from(rate), 2 * u128::from(samples) * (wanted as u128));
            let nearest = (twice + rate) / (2 * rate);
            return match u32::try_from(nearest) {
                Ok(0) if samples == 0 => Err(Reason::Zero),
                Ok(length) => Ok(length.max(1)),
                Err(_) => Err(Reason::TooLarge),
            };
        }
        self.frames(samples as f64 / f64::from(rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn to_the_nearest_and_at_least_one() {
        let shift = Time::FrameShift(0.01);
        let frames =
            [1.29, 0.57, 1.005, 0.015, 0.0149, 0.001, 1e-300, 14.4].map(|s| shift.frames(s));
        assert_eq!(frames, [129, 57, 101, 2, 1, 1, 1, 1440].map(Ok));
        assert_eq!(Time::Rate(16000.0).frames(2.5), Ok(40000));
        assert_eq!(shift.frames(f64::from(u32::MAX) / 100.0), Ok(u32::MAX));
        for (seconds, reason) in [
            (0.0, Reason::Zero),
            (-0.0, Reason::Zero),
            (-1.0, Reason::Negative),
            (f64::NAN, Reason::NotFinite),
            (f64::INFINITY, Reason::NotFinite),
            (1e9, Reason::TooLarge),
            (1e308, Reason::TooLarge),
        ] {
            assert_eq!(shift.frames(seconds), Err(reason), "{seconds}");
        }
    }

    #[test]
    fn samples_at_another_rate() {
        assert_eq!(Time::Rate(16000.0).resample(44100, 44100), Ok(16000));
        assert_eq!(Time::Rate(16000.0).resample(1, 48000), Ok(1));
        assert_eq!(Time::Rate(16000.0).resample(0, 48000), Err(Reason::Zero));
        assert_eq!(Time::Rate(1.0).resample(u64::MAX, 1), Err(Reason::TooLarge));
        assert_eq!(Time::FrameShift(0.01).resample(20640, 16000), Ok(129));
        assert_eq!(Time::Rate(12.5).resample(16000, 16000), Ok(13));
    }

    #[test]
    fn what_is_no_rate() {
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Time::Rate(value).check().is_err());
            assert!(Time::FrameShift(value).check().is_err());
        }
        assert!(Time::Rate(100.0).check().is_ok());
    }

    proptest! {
        /// Decimals with four places, against the same sum in whole numbers.
        #[test]
        fn as_on_paper(tenths_of_ms in 1_u64..1_000_000_000, shift in 1_u64..10_000) {
            let seconds: f64 = format!("{}.{:04}", tenths_of_ms / 10_000, tenths_of_ms % 10_000)
                .parse().unwrap();
            let given: f64 = format!("0.{shift:04}").parse().unwrap();
            let expected = ((2 * tenths_of_ms + shift) / (2 * shift)).max(1) as u32;
            prop_assert_eq!(Time::FrameShift(given).frames(seconds), Ok(expected));
        }
    }
}
