//! Lengths and measured steps, read from files of every format.

mod audio;
mod damage;
mod files;
mod fixtures;
mod hostile;
mod mapped;
mod properties;
mod steps;
