//! The extension module that Python loads. Its classes are in `lengthwise-python`, and this crate only links them: the
//! linker optimises everything at the level of the crate that it links, which is speed here. The classes are compiled
//! for size.

#![forbid(unsafe_code)]

pub use lengthwise_python::_lengthwise;
