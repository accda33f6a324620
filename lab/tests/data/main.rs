//! What models learn from: made, read from files, and refused.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod check;
mod flat;
mod made;
mod source;
mod spoken;
mod text;
mod wav;
