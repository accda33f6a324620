//! Numbers side by side in the registers of a processor.
//!
//! A kernel is a [`Job`], written once over [`Processor`]. It is compiled for each kind of processor,
//! and the best kind is chosen when the program runs. All of a job must be `#[inline(always)]` and free
//! of closures: what is not inlined is compiled without the instructions of the kind, and is slow.
#![expect(clippy::inline_always, reason = "compiled again for each kind of processor")]

mod plain;
mod processor;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

pub(crate) use plain::Plain;
pub(crate) use processor::{Job, Processor};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Half, Wide};

/// The kinds of processors.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// With AVX-512.
    #[cfg(target_arch = "x86_64")]
    Wide(Wide),
    /// With AVX2.
    #[cfg(target_arch = "x86_64")]
    Half(Half),
    /// Any.
    Plain(Plain),
}

impl Kind {
    /// The kinds that this processor is of, the best first.
    pub(crate) fn all() -> Vec<Self> {
        let kinds = [
            #[cfg(target_arch = "x86_64")]
            Wide::new().map(Self::Wide),
            #[cfg(target_arch = "x86_64")]
            Half::new().map(Self::Half),
            Some(Self::Plain(Plain)),
        ];
        kinds.into_iter().flatten().collect()
    }

    /// The best kind that this processor is of.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Kind> = OnceLock::new();
        *BEST.get_or_init(|| Self::all()[0])
    }

    /// Computes a job as this kind does.
    pub(crate) fn run<J: Job>(self, job: J) -> J::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Wide(p) => x86::wide(job, p),
            #[cfg(target_arch = "x86_64")]
            Self::Half(p) => x86::half(job, p),
            Self::Plain(p) => job.run(p),
        }
    }
}

/// `e` to the power of each; within a few units in the last place, and 0 or large beyond the range.
///
/// 2 to the power of a whole number times a polynomial on the rest (Cephes' coefficients).
#[inline(always)]
pub(crate) fn exp<P: Processor>(p: P, x: P::Lanes) -> P::Lanes {
    // What is not a number is kept.
    let x = p.min(p.all(88.0), p.max(p.all(-88.0), x));
    let whole = p.round(p.mul(x, p.all(std::f32::consts::LOG2_E)));
    // ln 2 in two parts, so that the rest is exact.
    let rest = p.take(whole, p.all(0.693_359_4), x);
    let rest = p.take(whole, p.all(-2.121_944_4e-4), rest);
    let sum = p.all(1.987_569_2e-4);
    let sum = p.mul_add(sum, rest, p.all(1.398_2e-3));
    let sum = p.mul_add(sum, rest, p.all(8.333_452e-3));
    let sum = p.mul_add(sum, rest, p.all(4.166_579_6e-2));
    let sum = p.mul_add(sum, rest, p.all(1.666_666_5e-1));
    let sum = p.mul_add(sum, rest, p.all(0.5));
    let sum = p.mul_add(sum, p.mul(rest, rest), p.add(rest, p.all(1.0)));
    p.mul(sum, p.power(whole))
}

/// The logistic function of each.
#[inline(always)]
pub(crate) fn sigmoid<P: Processor>(p: P, x: P::Lanes) -> P::Lanes {
    let e = exp(p, p.sub(p.all(0.0), x));
    p.div(p.all(1.0), p.add(p.all(1.0), e))
}

/// The hyperbolic tangent of each.
#[inline(always)]
pub(crate) fn tanh<P: Processor>(p: P, x: P::Lanes) -> P::Lanes {
    let e = exp(p, p.mul(p.all(-2.0), x));
    p.sub(p.div(p.all(2.0), p.add(p.all(1.0), e)), p.all(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `exp`, `sigmoid` and `tanh` of a number.
    struct Functions(f32);

    impl Job for Functions {
        type Output = [f32; 3];

        #[inline(always)]
        fn run<P: Processor>(self, p: P) -> [f32; 3] {
            let x = p.all(self.0);
            let mut out = [0.0; 3];
            let (first, rest) = out.split_at_mut(1);
            let (second, third) = rest.split_at_mut(1);
            p.store(first, exp(p, x));
            p.store(second, sigmoid(p, x));
            p.store(third, tanh(p, x));
            out
        }
    }

    #[test]
    fn functions_are_near_the_exact_ones() {
        for kind in Kind::all() {
            for step in -2000..2000 {
                let x = (f64::from(step) * 0.01) as f32;
                let [exp, sigmoid, tanh] = kind.run(Functions(x)).map(f64::from);
                let x = f64::from(x);
                assert!(((exp - x.exp()) / x.exp()).abs() < 3e-7, "{kind:?} exp {x}");
                let exact = 1.0 / (1.0 + (-x).exp());
                assert!((sigmoid - exact).abs() < 2e-7, "{kind:?} sigmoid {x}");
                assert!((tanh - x.tanh()).abs() < 3e-7, "{kind:?} tanh {x}");
            }
            assert!(kind.run(Functions(-1000.0))[0] == 0.0);
            assert!(kind.run(Functions(1000.0))[0].is_finite());
            assert!(kind.run(Functions(f32::NAN)).iter().all(|value| value.is_nan()), "{kind:?}");
        }
    }

    /// Loads a slice, adds 1 and stores it.
    struct AddOne<'a>(&'a [f32], &'a mut [f32]);

    impl Job for AddOne<'_> {
        type Output = ();

        #[inline(always)]
        fn run<P: Processor>(self, p: P) {
            p.store(self.1, p.add(p.load(self.0), p.all(1.0)));
        }
    }

    #[test]
    fn slices_of_any_length_are_loaded_and_stored() {
        let from: Vec<f32> = (0..40).map(|i| i as f32).collect();
        for kind in Kind::all() {
            for read in 0..20 {
                for write in 0..20 {
                    let mut to = [0.5; 40];
                    kind.run(AddOne(&from[..read], &mut to[..write]));
                    let lanes = match kind {
                        #[cfg(target_arch = "x86_64")]
                        Kind::Wide(_) => Wide::LANES,
                        #[cfg(target_arch = "x86_64")]
                        Kind::Half(_) => Half::LANES,
                        Kind::Plain(_) => Plain::LANES,
                    };
                    for (at, &value) in to.iter().enumerate() {
                        let expected = match at {
                            at if at >= write.min(lanes) => 0.5,
                            at if at >= read => 1.0,
                            at => at as f32 + 1.0,
                        };
                        assert_eq!(
                            value.to_bits(),
                            f32::to_bits(expected),
                            "{kind:?} {read} {write}"
                        );
                    }
                }
            }
        }
    }
}
