//! Processors with AVX-512, and with AVX2.
#![expect(unsafe_code, reason = "instructions of a kind of processor, once it is known")]
#![expect(clippy::inline_always, reason = "part of the kernels")]

use std::arch::{
    is_x86_feature_detected,
    x86_64::{self as x86, __m256, __m512},
};

use super::processor::{Job, Processor};

/// A processor with AVX-512, sixteen lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide(());

/// A processor with AVX2, eight lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half(());

impl Wide {
    /// If this processor has it.
    pub(crate) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma");
        has.then_some(Self(()))
    }
}

impl Half {
    /// If this processor has it.
    pub(crate) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        has.then_some(Self(()))
    }
}

/// Computes a job with AVX-512.
pub(crate) fn wide<J: Job>(job: J, p: Wide) -> J::Output {
    #[target_feature(enable = "avx512f,fma")]
    fn inner<J: Job>(job: J, p: Wide) -> J::Output {
        job.run(p)
    }
    // SAFETY: there is a `Wide` only where the processor has these features.
    unsafe { inner(job, p) }
}

/// Computes a job with AVX2.
pub(crate) fn half<J: Job>(job: J, p: Half) -> J::Output {
    #[target_feature(enable = "avx2,fma")]
    fn inner<J: Job>(job: J, p: Half) -> J::Output {
        job.run(p)
    }
    // SAFETY: there is a `Half` only where the processor has these features.
    unsafe { inner(job, p) }
}

/// Operations that are one instruction.
macro_rules! instructions {
    ($($name:ident($($argument:ident),*) => $instruction:expr;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($argument: Self::Lanes),*) -> Self::Lanes {
                // SAFETY: there is a `self` only where the processor has the instruction.
                unsafe { $instruction }
            }
        )*
    };
}

impl Processor for Wide {
    type Lanes = __m512;
    const LANES: usize = 16;
    const ROWS: usize = 6;

    #[inline(always)]
    fn all(self, value: f32) -> __m512 {
        // SAFETY: there is a `self` only where the processor has the instruction.
        unsafe { x86::_mm512_set1_ps(value) }
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> __m512 {
        // SAFETY: only what the mask says is read, and the slice has that.
        unsafe { x86::_mm512_maskz_loadu_ps(mask(from.len()), from.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, to: &mut [f32], lanes: __m512) {
        // SAFETY: only what the mask says is written, and the slice has that.
        unsafe { x86::_mm512_mask_storeu_ps(to.as_mut_ptr(), mask(to.len()), lanes) }
    }

    instructions! {
        add(a, b) => x86::_mm512_add_ps(a, b);
        sub(a, b) => x86::_mm512_sub_ps(a, b);
        mul(a, b) => x86::_mm512_mul_ps(a, b);
        div(a, b) => x86::_mm512_div_ps(a, b);
        mul_add(a, b, c) => x86::_mm512_fmadd_ps(a, b, c);
        take(a, b, c) => x86::_mm512_fnmadd_ps(a, b, c);
        min(a, b) => x86::_mm512_min_ps(a, b);
        max(a, b) => x86::_mm512_max_ps(a, b);
        sqrt(a) => x86::_mm512_sqrt_ps(a);
        round(a) => x86::_mm512_roundscale_ps::<{ x86::_MM_FROUND_TO_NEAREST_INT }>(a);
        power(whole) => {
            let whole = x86::_mm512_cvtps_epi32(whole);
            let exponent = x86::_mm512_add_epi32(whole, x86::_mm512_set1_epi32(127));
            x86::_mm512_castsi512_ps(x86::_mm512_slli_epi32::<23>(exponent))
        };
    }
}

/// The first so many of sixteen.
#[inline(always)]
fn mask(count: usize) -> u16 {
    if count < 16 { (1 << count) - 1 } else { u16::MAX }
}

impl Processor for Half {
    type Lanes = __m256;
    const LANES: usize = 8;
    const ROWS: usize = 3;

    #[inline(always)]
    fn all(self, value: f32) -> __m256 {
        // SAFETY: there is a `self` only where the processor has the instruction.
        unsafe { x86::_mm256_set1_ps(value) }
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> __m256 {
        if let Some(lanes) = from.first_chunk::<8>() {
            // SAFETY: an array of eight is read.
            return unsafe { x86::_mm256_loadu_ps(lanes.as_ptr()) };
        }
        let mut lanes = [0.0; 8];
        lanes[..from.len()].copy_from_slice(from);
        // SAFETY: an array of eight is read.
        unsafe { x86::_mm256_loadu_ps(lanes.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, to: &mut [f32], lanes: __m256) {
        if let Some(to) = to.first_chunk_mut::<8>() {
            // SAFETY: an array of eight is written.
            unsafe { x86::_mm256_storeu_ps(to.as_mut_ptr(), lanes) };
        } else {
            let mut all = [0.0; 8];
            // SAFETY: an array of eight is written.
            unsafe { x86::_mm256_storeu_ps(all.as_mut_ptr(), lanes) };
            to.copy_from_slice(&all[..to.len()]);
        }
    }

    instructions! {
        add(a, b) => x86::_mm256_add_ps(a, b);
        sub(a, b) => x86::_mm256_sub_ps(a, b);
        mul(a, b) => x86::_mm256_mul_ps(a, b);
        div(a, b) => x86::_mm256_div_ps(a, b);
        mul_add(a, b, c) => x86::_mm256_fmadd_ps(a, b, c);
        take(a, b, c) => x86::_mm256_fnmadd_ps(a, b, c);
        min(a, b) => x86::_mm256_min_ps(a, b);
        max(a, b) => x86::_mm256_max_ps(a, b);
        sqrt(a) => x86::_mm256_sqrt_ps(a);
        round(a) => {
            x86::_mm256_round_ps::<{ x86::_MM_FROUND_TO_NEAREST_INT | x86::_MM_FROUND_NO_EXC }>(a)
        };
        power(whole) => {
            let whole = x86::_mm256_cvtps_epi32(whole);
            let exponent = x86::_mm256_add_epi32(whole, x86::_mm256_set1_epi32(127));
            x86::_mm256_castsi256_ps(x86::_mm256_slli_epi32::<23>(exponent))
        };
    }
}
