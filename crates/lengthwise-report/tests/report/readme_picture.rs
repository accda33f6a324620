//! The picture of the README is made by this test: `UPDATE_EXPECT=1 cargo test` writes it anew.

use expect_test::expect_file;
use lengthwise::{Budget, Error, Example, Lengths, Strategy};
use lengthwise_report::padding_picture;

#[test]
fn the_picture_of_the_readme_is_current() -> Result<(), Error> {
    let speech = Example::Speech.lengths();
    let lengths = Lengths::new(&speech.as_slice()[..96])?;
    let strategies = [
        "shuffled",
        "alternated:bins=4",
        "semi-sorted",
        "optimal-buckets:count=4",
        "neighbours",
        "sorted",
    ]
    .iter()
    .map(|given| given.parse())
    .collect::<Result<Vec<Strategy>, Error>>()?;
    let picture = padding_picture(&lengths, &strategies, Budget::sequences(8), 0)?;
    expect_file!["../../../../docs/padding.svg"].assert_eq(&picture);
    Ok(())
}
