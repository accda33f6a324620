//! The lines of the guide that need a framework are lines of its example.

use std::fs;
use std::path::Path;

#[test]
fn lines_of_the_guide_are_lines_of_an_example() {
    let read = |path: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let guide = read("docs/guides/rust.md");
    let blocks: Vec<&str> = guide.split("```rust,ignore\n").skip(1).collect();
    assert_eq!(blocks.len(), 2);
    for (block, name) in blocks.into_iter().zip(["burn", "candle"]) {
        let example = read(&format!("examples/{name}/src/main.rs"));
        let trimmed = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
        let block = trimmed(block.split("```").next().unwrap_or_default());
        assert!(trimmed(&example).contains(&block), "not in the example with {name}:\n{block}");
    }
}
