//! Numbers side by side, which the compiler turns into the widest instructions of the processor.
//!
//! The kernels are plain code over arrays. They are compiled once for each kind of processor, and the
//! best kind is chosen when the program runs.
#![expect(clippy::inline_always, reason = "compiled again for each kind of processor")]

/// How many numbers go side by side.
pub(crate) const LANES: usize = 16;

/// Numbers side by side.
pub(crate) type Lanes = [f32; LANES];

/// Calls `$function` compiled for this processor.
///
/// The function must be `#[inline(always)]`, so that it is compiled again inside the one that names the
/// processor.
macro_rules! for_this_processor {
    ($function:path => fn $name:ident($($argument:ident: $type:ty),* $(,)?)) => {
        #[expect(unsafe_code, reason = "a function for a kind of processor, once it is known")]
        pub(crate) fn $name($($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,fma")]
                fn wide($($argument: $type),*) {
                    $function($($argument),*);
                }
                #[target_feature(enable = "avx2,fma")]
                fn half($($argument: $type),*) {
                    $function($($argument),*);
                }
                if std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512vl")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                {
                    // SAFETY: the processor has what the function was compiled for.
                    return unsafe { wide($($argument),*) };
                }
                if std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("fma")
                {
                    // SAFETY: the processor has what the function was compiled for.
                    return unsafe { half($($argument),*) };
                }
            }
            $function($($argument),*);
        }
    };
}
pub(crate) use for_this_processor;

/// `e` to the power of each; within a few units in the last place, and 0 or large beyond the range.
///
/// 2 to the power of a whole number times a polynomial on the rest (Cephes' coefficients).
#[inline(always)]
pub(crate) fn exp(x: Lanes) -> Lanes {
    let mut out = [0.0; LANES];
    for (out, &x) in out.iter_mut().zip(&x) {
        let x = x.clamp(-87.0, 88.0);
        let whole = (x * std::f32::consts::LOG2_E).round_ties_even();
        // ln 2 in two parts, so that the rest is exact.
        let rest = (-whole).mul_add(0.693_359_4, x);
        let rest = (-whole).mul_add(-2.121_944_4e-4, rest);
        let p = 1.987_569_2e-4_f32;
        let p = p.mul_add(rest, 1.398_2e-3);
        let p = p.mul_add(rest, 8.333_452e-3);
        let p = p.mul_add(rest, 4.166_579_6e-2);
        let p = p.mul_add(rest, 1.666_666_5e-1);
        let p = p.mul_add(rest, 0.5);
        let p = p.mul_add(rest * rest, rest + 1.0);
        *out = p * f32::from_bits(((whole as i32 + 127) << 23).cast_unsigned());
    }
    out
}

/// The logistic function of each.
#[inline(always)]
pub(crate) fn sigmoid(x: Lanes) -> Lanes {
    let e = exp(x.map(|x| -x));
    e.map(|e| 1.0 / (1.0 + e))
}

/// The hyperbolic tangent of each.
#[inline(always)]
pub(crate) fn tanh(x: Lanes) -> Lanes {
    let e = exp(x.map(|x| -2.0 * x));
    e.map(|e| 2.0 / (1.0 + e) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_near_the_exact_ones() {
        for step in -2000..2000 {
            let x = f64::from(step) * 0.01;
            let lanes = [x as f32; LANES];
            let x = f64::from(lanes[0]);
            let relative = |value: f32, exact: f64| ((f64::from(value) - exact) / exact).abs();
            assert!(relative(exp(lanes)[3], x.exp()) < 3e-7, "exp {x}");
            let exact = 1.0 / (1.0 + (-x).exp());
            assert!((f64::from(sigmoid(lanes)[0]) - exact).abs() < 2e-7, "sigmoid {x}");
            assert!((f64::from(tanh(lanes)[0]) - x.tanh()).abs() < 3e-7, "tanh {x}");
        }
        assert!(exp([-1000.0; LANES])[0] < 1e-37);
        assert!(exp([1000.0; LANES])[0].is_finite());
        assert!(sigmoid([f32::NAN; LANES])[0].is_nan());
    }
}
