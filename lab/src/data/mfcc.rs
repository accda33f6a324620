//! Features of sound: 16 cepstral coefficients on the mel scale, a hundred times a second.

use std::{f64::consts::PI, sync::Arc};

use realfft::{RealFftPlanner, RealToComplex};

/// How many coefficients a frame has.
pub const COEFFICIENTS: usize = 16;

/// How many filters the spectrum goes through.
const FILTERS: usize = 26;

/// Where the lowest filter begins, in Hertz.
const LOWEST: f64 = 60.0;

/// How much of the sample before is taken away, so that high tones count as much as low ones.
const EMPHASIS: f64 = 0.97;

/// The least that comes out of a filter: silence has no logarithm.
const FLOOR: f64 = 1e-10;

/// Computes the coefficients of sound of one rate: windows of 25 ms every 10 ms, with no padding at
/// the ends.
pub struct Mfcc {
    window: Vec<f64>,
    shift: usize,
    transform: Arc<dyn RealToComplex<f64>>,
    filters: Vec<Vec<f64>>,
    cosines: Vec<Vec<f64>>,
}

impl std::fmt::Debug for Mfcc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let window = self.window.len();
        f.debug_struct("Mfcc")
            .field("window", &window)
            .field("shift", &self.shift)
            .finish_non_exhaustive()
    }
}

impl Mfcc {
    /// For so many samples a second, at least 1000.
    ///
    /// # Panics
    ///
    /// When there are fewer.
    pub fn new(rate: u32) -> Self {
        assert!(rate >= 1000, "fewer than 1000 samples a second");
        let size = rate as usize / 40;
        let points = size.next_power_of_two();
        let window = (0..size)
            .map(|at| 0.54 - 0.46 * libm::cos(2.0 * PI * at as f64 / (size - 1) as f64))
            .collect();
        let cosines = (0..COEFFICIENTS)
            .map(|order| {
                let scale = if order == 0 { 1.0 } else { 2.0 } / FILTERS as f64;
                let turn = PI * order as f64 / FILTERS as f64;
                (0..FILTERS).map(|at| scale.sqrt() * libm::cos(turn * (at as f64 + 0.5))).collect()
            })
            .collect();
        Self {
            window,
            shift: rate as usize / 100,
            transform: RealFftPlanner::new().plan_fft_forward(points),
            filters: filters(f64::from(rate), points),
            cosines,
        }
    }

    /// How many samples the shortest sound has.
    pub fn shortest(&self) -> usize {
        self.window.len()
    }

    /// The coefficients of every frame. Samples are from -1 to 1.
    pub fn compute(&self, samples: &[f64]) -> Vec<f32> {
        let before = std::iter::once(&0.0).chain(samples);
        let emphatic: Vec<f64> =
            samples.iter().zip(before).map(|(now, before)| now - EMPHASIS * before).collect();
        let mut input = self.transform.make_input_vec();
        let mut output = self.transform.make_output_vec();
        let points = input.len() as f64;
        let mut frames = Vec::new();
        for frame in emphatic.windows(self.window.len()).step_by(self.shift) {
            input.fill(0.0);
            for (input, (sample, weight)) in input.iter_mut().zip(frame.iter().zip(&self.window)) {
                *input = sample * weight;
            }
            // It fails only for slices of other sizes than it made itself.
            if self.transform.process(&mut input, &mut output).is_err() {
                return frames;
            }
            let energies: Vec<f64> = self
                .filters
                .iter()
                .map(|filter| {
                    let parts = filter.iter().zip(&output);
                    let energy: f64 =
                        parts.map(|(weight, bin)| weight * bin.norm_sqr() / points).sum();
                    libm::log(energy.max(FLOOR))
                })
                .collect();
            frames.extend(self.cosines.iter().map(|cosines| {
                let parts = cosines.iter().zip(&energies);
                parts.map(|(cosine, energy)| cosine * energy).sum::<f64>() as f32
            }));
        }
        frames
    }
}

/// Triangles that overlap by half, as wide as each other on the mel scale.
fn filters(rate: f64, points: usize) -> Vec<Vec<f64>> {
    let mel = |hertz: f64| 2595.0 * libm::log10(1.0 + hertz / 700.0);
    let hertz = |mel: f64| 700.0 * (libm::pow(10.0, mel / 2595.0) - 1.0);
    let (low, high) = (mel(LOWEST), mel(rate / 2.0));
    let corner = |at: usize| hertz(low + (high - low) * at as f64 / (FILTERS + 1) as f64);
    (0..FILTERS)
        .map(|filter| {
            let [from, top, to] = [0, 1, 2].map(|next| corner(filter + next));
            (0..=points / 2)
                .map(|bin| {
                    let tone = bin as f64 * rate / points as f64;
                    ((tone - from) / (top - from)).min((to - tone) / (to - top)).max(0.0)
                })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame has one row of coefficients, and the ends are not padded.
    #[test]
    fn frames_are_counted_without_padding() {
        for (rate, samples, frames) in
            [(8000, 199, 0), (8000, 200, 1), (8000, 279, 1), (8000, 280, 2), (16000, 2384, 13)]
        {
            let found = Mfcc::new(rate).compute(&vec![0.1; samples]).len() / COEFFICIENTS;
            assert_eq!(found, frames, "{samples} samples at {rate} Hz");
        }
    }

    /// Silence is the floor in every filter, and so the first coefficient alone.
    #[test]
    fn silence_is_flat() {
        let frame = Mfcc::new(8000).compute(&[0.0; 200]);
        let expected = (FILTERS as f64).sqrt() * libm::log(FLOOR);
        assert!((f64::from(frame[0]) - expected).abs() < 1e-3, "{}", frame[0]);
        assert!(frame[1..].iter().all(|value| value.abs() < 1e-3), "{frame:?}");
    }

    /// The filter whose top is nearest has the most energy: undoing the cosines finds it. There are
    /// 76.06 mel from top to top, and 300 Hz is 4.07 times as many above the beginning.
    #[test]
    fn a_tone_is_found_in_its_filter() {
        let mfcc = Mfcc::new(8000);
        for (tone, expected) in [(300.0, 3), (1000.0, 11), (2900.0, 22)] {
            let samples: Vec<f64> = (0..400)
                .map(|at| 0.5 * libm::sin(2.0 * PI * tone * f64::from(at) / 8000.0))
                .collect();
            let frames = mfcc.compute(&samples);
            let frame = &frames[COEFFICIENTS..2 * COEFFICIENTS];
            let energy = |filter: usize| -> f64 {
                let parts = frame.iter().zip(&mfcc.cosines);
                parts.map(|(&value, cosines)| f64::from(value) * cosines[filter]).sum()
            };
            let loudest = (0..FILTERS).max_by(|&a, &b| energy(a).total_cmp(&energy(b)));
            assert_eq!(loudest, Some(expected), "{tone} Hz");
        }
    }
}
