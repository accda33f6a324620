//! What models learn from: made, read from files, and refused.

mod check;
mod made;
