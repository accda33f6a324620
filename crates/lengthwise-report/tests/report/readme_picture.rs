//! The picture of the README is made by this test: `UPDATE_EXPECT=1 cargo test` writes it anew.

use expect_test::expect_file;
use lengthwise::{Error, Example};
use lengthwise_report::before_and_after;

#[test]
fn the_picture_of_the_readme_is_current() -> Result<(), Error> {
    let picture = before_and_after(&Example::Bimodal.lengths(), 128, "encoder".parse()?, 2)?;
    expect_file!["../../../../docs/before-and-after.svg"].assert_eq(&picture);
    Ok(())
}
