//! Any processor: plain code, which the compiler may turn into what the target always has.
#![expect(clippy::inline_always, reason = "part of the kernels")]

use super::processor::Processor;

/// Any processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

const LANES: usize = 4;

/// An operation on each lane.
macro_rules! each {
    ($name:ident($($argument:ident),*) => $value:expr) => {
        #[inline(always)]
        fn $name(self, $($argument: [f32; LANES]),*) -> [f32; LANES] {
            let mut out = [0.0; LANES];
            for (lane, out) in out.iter_mut().enumerate() {
                $(let $argument = $argument[lane];)*
                *out = $value;
            }
            out
        }
    };
}

/// `a · b + c`, rounded once where that is one instruction.
#[inline(always)]
fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        a.mul_add(b, c)
    } else {
        a * b + c
    }
}

impl Processor for Plain {
    type Lanes = [f32; LANES];
    const LANES: usize = LANES;
    const ROWS: usize = 3;

    #[inline(always)]
    fn all(self, value: f32) -> Self::Lanes {
        [value; LANES]
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> Self::Lanes {
        if let Some(lanes) = from.first_chunk() {
            return *lanes;
        }
        let mut lanes = [0.0; LANES];
        lanes[..from.len()].copy_from_slice(from);
        lanes
    }

    #[inline(always)]
    fn store(self, to: &mut [f32], lanes: Self::Lanes) {
        if let Some(to) = to.first_chunk_mut() {
            *to = lanes;
        } else {
            to.copy_from_slice(&lanes[..to.len()]);
        }
    }

    each!(add(a, b) => a + b);
    each!(sub(a, b) => a - b);
    each!(mul(a, b) => a * b);
    each!(div(a, b) => a / b);
    each!(mul_add(a, b, c) => mul_add(a, b, c));
    each!(take(a, b, c) => mul_add(-a, b, c));
    each!(min(a, b) => if a < b { a } else { b });
    each!(max(a, b) => if a > b { a } else { b });
    each!(sqrt(a) => a.sqrt());
    each!(round(a) => {
        // Beside this number there are only whole ones.
        let large = 12_582_912.0;
        (a + large) - large
    });
    each!(power(whole) => f32::from_bits(((whole as i32 + 127) << 23).cast_unsigned()));
}
