//! The command line.

use std::path::PathBuf;

use lengthwise::Strategy;

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
usage: cargo run --release -- [--quick] [--ranks] [--ladders] [--packing] [--stream] [--shards]
                                [--two-lengths]
                                [--strategy NAME] [--sequences N]
                                [--growth [--large] [--numpy PYTHON]]
                                [--faces [--numpy PYTHON] [--command PATH]]
                                [--billion [--memory SIZE] [--command PATH]] [--out DIR]

  --quick          10,000 and 100,000 sequences and few rounds: a few seconds
  --ranks          only ranks: the time to assign batches to them, and how long they wait
  --ladders        only the optimal ladder
  --packing        only packing: how fast, and how full rows are
  --stream         only streams: how fast, how much they pad, how long ranks wait
  --shards         only 1,000 shards that are planned separately, of 10,000 sequences (300 with --quick);
                   20 minutes, or 4 with --sequences 1000000
  --two-lengths    only pairs of lengths: padding and mixing, compared with fairseq's order
  --strategy NAME  this strategy only, no ladders and no ranks (`sorted`, `alternated:bins=8`, …)
  --sequences N    this many sequences only
  --growth         only how the time of a plan grows from 10,000 to 10,000,000 sequences, by stage
  --large          with --growth: 100,000,000 sequences too, which takes 3 GB
  --numpy PYTHON   with --growth: compare with NumPy, run by this Python
  --faces          only what plans of 10,000,000 sequences take on one core from Rust, from Python, which needs
                   `lengthwise` and PyTorch in the Python of --numpy, and with the command
  --billion        only a billion sequences within a memory limit, planned by the command `lengthwise`;
                   needs 9 GB in the folder for temporary files (TMPDIR)
  --memory SIZE    with --billion: the memory limit [default: 8GB]
  --command PATH   with --billion: the command [default: ../target/release/lengthwise]; with --faces
                   [default: the one that is installed]
  --out DIR        write DIR/raw.jsonl (every round) and DIR/table.md; with --growth
                   also DIR/growth.csv and DIR/growth.svg
";

/// What to measure, and where to write it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Args {
    pub(crate) quick: bool,
    pub(crate) only: Option<Only>,
    pub(crate) strategy: Option<Strategy>,
    pub(crate) sequences: Option<u32>,
    pub(crate) large: bool,
    pub(crate) numpy: Option<PathBuf>,
    pub(crate) memory: Option<String>,
    pub(crate) command: Option<PathBuf>,
    pub(crate) out: Option<PathBuf>,
}

/// One part of what is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Only {
    Ranks,
    Ladders,
    Packing,
    Stream,
    Shards,
    TwoLengths,
    Growth,
    Faces,
    Billion,
}

/// What the user asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Asked {
    Run(Args),
    Help,
}

impl Args {
    /// Reads the arguments, without the program's name. The error is one line.
    pub(crate) fn parse(mut given: impl Iterator<Item = String>) -> Result<Asked, String> {
        let mut args = Self::default();
        while let Some(argument) = given.next() {
            let mut value = || given.next().ok_or(format!("`{argument}` needs a value"));
            match argument.as_str() {
                "--help" | "-h" => return Ok(Asked::Help),
                "--quick" => args.quick = true,
                "--ranks" => args.only = Some(Only::Ranks),
                "--ladders" => args.only = Some(Only::Ladders),
                "--packing" => args.only = Some(Only::Packing),
                "--stream" => args.only = Some(Only::Stream),
                "--shards" => args.only = Some(Only::Shards),
                "--two-lengths" => args.only = Some(Only::TwoLengths),
                "--strategy" => {
                    args.strategy = Some(value()?.parse().map_err(|error| format!("{error}"))?);
                }
                "--sequences" => args.sequences = Some(count(&value()?)?),
                "--growth" => args.only = Some(Only::Growth),
                "--large" => args.large = true,
                "--numpy" => args.numpy = Some(value()?.into()),
                "--faces" => args.only = Some(Only::Faces),
                "--billion" => args.only = Some(Only::Billion),
                "--memory" => args.memory = Some(value()?),
                "--command" => args.command = Some(value()?.into()),
                "--out" => args.out = Some(value()?.into()),
                other => return Err(format!("unknown argument `{other}` (try `--help`)")),
            }
        }
        Ok(Asked::Run(args))
    }

    /// The strategies to measure.
    pub(crate) fn strategies(&self) -> Vec<Strategy> {
        self.strategy.as_ref().map_or_else(Strategy::all_of_one_length, |one| vec![one.clone()])
    }

    /// The numbers of sequences to measure.
    pub(crate) fn counts(&self) -> Vec<u32> {
        match self.sequences {
            Some(count) => vec![count],
            None if self.quick => vec![10_000, 100_000],
            None => vec![10_000, 100_000, 1_000_000, 10_000_000],
        }
    }

    /// The numbers of sequences whose growth is measured.
    pub(crate) fn growth_counts(&self) -> Vec<u32> {
        let mut counts = self.counts();
        if self.large {
            counts.push(100_000_000);
        }
        counts
    }

    /// How often one and the other are measured in turns.
    pub(crate) fn turns(&self, count: u32) -> u32 {
        match count {
            _ if self.quick => 1,
            0..=1_000_000 => 4,
            1_000_001..=10_000_000 => 12,
            _ => 1,
        }
    }

    /// How many rounds a plan of `count` sequences gets.
    pub(crate) fn rounds(&self, count: u32) -> u32 {
        match count {
            _ if self.quick => 3,
            0..=100_000 => 15,
            100_001..=1_000_000 => 7,
            _ => 3,
        }
    }
}

fn count(text: &str) -> Result<u32, String> {
    match text.replace('_', "").parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("`--sequences` is `{text}`; expected a whole number from 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Asked, String> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_argument_is_read() {
        let args = Args {
            only: Some(Only::Ladders),
            quick: true,
            strategy: Some(lengthwise::strategy::Sorted.into()),
            sequences: Some(1000),
            large: true,
            numpy: Some("python3".into()),
            memory: Some("2GB".to_owned()),
            command: Some("lengthwise".into()),
            out: Some("runs/new".into()),
        };
        let line = "--quick --ladders --strategy sorted --sequences 1_000 --large \
                    --numpy python3 --memory 2GB --command lengthwise --out runs/new";
        assert_eq!(parse(line), Ok(Asked::Run(args)));
        assert_eq!(parse(""), Ok(Asked::Run(Args::default())));
        assert_eq!(parse("--help"), Ok(Asked::Help));
    }

    #[test]
    fn what_is_wrong_is_one_line() {
        for line in [
            "--fast",
            "quick",
            "--out",
            "--numpy",
            "--sequences 0",
            "--sequences x",
            "--strategy no",
        ] {
            let error = parse(line).expect_err(line);
            assert!(!error.is_empty() && !error.contains('\n'), "{error}");
        }
    }
}
