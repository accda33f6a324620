//! The extension module as Python loads it. All that it has is in `lengthwise-python`, a crate of its own: when the
//! release is linked, everything is optimised once more at the level of this crate, which is for speed, and the classes,
//! which are for size, stay small.

#![forbid(unsafe_code)]

pub use lengthwise_python::_lengthwise;
