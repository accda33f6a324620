//! The kernels that the device runs, and what they are called with.

use super::span::Span;

/// All kernels, compiled for any device since the A100; the driver compiles them for its own.
/// `cuda/make.py` makes it.
pub(super) const PTX: &str = include_str!("../../cuda/kernels.ptx");

macro_rules! kernels {
    ($($kernel:ident = $name:literal,)*) => {
        /// A kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Kernel {
            $(#[doc = concat!("`", $name, "`")] $kernel,)*
        }

        const KERNELS: &[Kernel] = &[$(Kernel::$kernel),*];

        /// The names of all kernels, in the order of [`Kernel`].
        pub(super) const NAMES: &[&str] = &[$($name),*];
    };
}

kernels! {
    Add = "add",
    AddParts = "add_parts",
    AddToRows = "add_to_rows",
    Adadelta = "adadelta",
    Adam = "adam",
    Attend = "attend",
    AttendBackward = "attend_backward",
    CellBackward = "cell_backward",
    CellForward = "cell_forward",
    CrossEntropy = "cross_entropy",
    CtcGradient = "ctc_gradient",
    CtcPaths = "ctc_paths",
    Embed = "embed",
    EmbedBackward = "embed_backward",
    Finish = "finish",
    LogSoftmax = "log_softmax",
    LstmBackward8 = "lstm_backward_8",
    LstmBackward8Wide = "lstm_backward_8_wide",
    LstmBackward16 = "lstm_backward_16",
    LstmBackward16Wide = "lstm_backward_16_wide",
    LstmBackward32 = "lstm_backward_32",
    LstmBackward32Wide = "lstm_backward_32_wide",
    LstmForward = "lstm_forward",
    LstmForwardWide = "lstm_forward_wide",
    Mean = "mean",
    MeanBackward = "mean_backward",
    Pack = "pack",
    PackPrevious = "pack_previous",
    Scale = "scale",
    Spread = "spread",
    SquaredError = "squared_error",
    Squares = "squares",
    SumRows = "sum_rows",
    UnsetPlaces = "unset_places",
}

impl Kernel {
    /// Whether its blocks wait for each other, and have much shared memory.
    pub(super) fn waits(self) -> bool {
        NAMES[self as usize].starts_with("lstm_")
    }
}

/// All kernels, in the order of their names.
pub(super) fn all() -> impl Iterator<Item = Kernel> {
    KERNELS.iter().copied()
}

/// What a launch of the LSTM kernels is about; `Layer` in their source.
pub(super) type LayerWords = [u32; 12];

/// One argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Argument {
    /// A number or pointer; the kernel reads as many of the low bytes as its type has.
    Word(u64),
    /// What a launch is about.
    Layer(LayerWords),
}

impl From<usize> for Argument {
    fn from(value: usize) -> Self {
        Self::Word(value as u64)
    }
}

impl From<f32> for Argument {
    fn from(value: f32) -> Self {
        Self::Word(value.to_bits().into())
    }
}

impl From<Span<'_>> for Argument {
    fn from(value: Span<'_>) -> Self {
        Self::Word(value.address())
    }
}

impl From<LayerWords> for Argument {
    fn from(value: LayerWords) -> Self {
        Self::Layer(value)
    }
}

/// The arguments of a kernel, each as what it is.
macro_rules! arguments {
    ($($value:expr),* $(,)?) => {
        &[$($crate::cuda::kernels::Argument::from($value)),*]
    };
}
pub(super) use arguments;

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a.
    fn digest(text: &str) -> u64 {
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |value, byte| {
            (value ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    #[test]
    fn ptx_was_made_from_the_sources() {
        let sources = concat!(
            include_str!("../../cuda/common.cu"),
            include_str!("../../cuda/lstm.cu"),
            include_str!("../../cuda/cell.cu"),
            include_str!("../../cuda/rows.cu"),
            include_str!("../../cuda/loss.cu"),
        );
        let first = PTX.lines().next().unwrap();
        let expected = format!("{:016x}.", digest(sources));
        assert!(first.ends_with(&expected), "run cuda/make.py: {first:?} is not of {expected}");
    }

    #[test]
    fn every_kernel_is_there() {
        for name in NAMES {
            assert!(PTX.contains(&format!(".entry {name}(")), "{name}");
        }
        assert_eq!(PTX.matches(".entry ").count(), NAMES.len(), "a kernel that nothing calls");
    }
}
