//! A report as one page that needs nothing else: no network, and without scripts all can be read.

pub(crate) mod figure;
pub(crate) mod page;
mod study;
mod table;
mod verdict;
mod words;
