//! Loops compiled for the vectors that this processor has.
//!
//! The loops themselves are plain code: every number comes out the same to the bit, with or without
//! vectors. Two things are `unsafe`, here and nowhere else: to call a function compiled for a kind of
//! processor, where the processor is known to be of that kind; and to ask for memory ahead of its use,
//! which changes nothing but the time.

/// Work compiled for every kind of processor. `run` and all it calls must be `#[inline(always)]`.
pub(crate) trait Job {
    type Output;

    fn run(self) -> Self::Output;
}

/// Runs a job with the widest vectors that there are.
pub(crate) fn run<J: Job>(job: J) -> J::Output {
    #[cfg(target_arch = "x86_64")]
    return x86::run(job);
    #[cfg(not(target_arch = "x86_64"))]
    plain(job)
}

/// Runs a job without them: the twin that tests compare with.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(crate) fn plain<J: Job>(job: J) -> J::Output {
    job.run()
}

/// Asks for the line of memory that `value` is in, which is used soon.
#[inline(always)]
pub(crate) fn ask<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    x86::ask(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #![expect(unsafe_code, reason = "instructions of a kind of processor, once it is known")]

    use std::arch::{
        is_x86_feature_detected as has,
        x86_64::{_MM_HINT_T0, _mm_prefetch},
    };

    use super::Job;

    #[inline(always)]
    pub(crate) fn ask<T>(value: &T) {
        // SAFETY: every processor of this kind has the instruction; it reads and writes nothing, and
        // the address is that of a value.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }

    pub(crate) fn run<J: Job>(job: J) -> J::Output {
        if has!("avx512f") && has!("avx512dq") && has!("avx512vl") && has!("avx512bw") {
            // SAFETY: the line above found all features that `wide` is compiled for.
            unsafe { wide(job) }
        } else if has!("avx2") {
            // SAFETY: the line above found the feature that `half` is compiled for.
            unsafe { half(job) }
        } else {
            job.run()
        }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
    fn wide<J: Job>(job: J) -> J::Output {
        job.run()
    }

    #[target_feature(enable = "avx2")]
    fn half<J: Job>(job: J) -> J::Output {
        job.run()
    }
}
