//! How several workers learn together.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How several workers learn together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Mode {
    /// In every step the gradients of all are one: that of all their batches as one batch.
    #[default]
    Sync,
    /// Each learns by itself, and now and then all go on from the mean of their parameters (Khomenko et
    /// al.): V(t) = mean of v(t) − β·V(t − 1).
    Average {
        /// After how many steps; 0 for once in an epoch. It is always done at an epoch's end.
        every: u32,
        /// β, which makes parameters smaller.
        decay: f32,
    },
}

/// The paper's β.
const DECAY: f32 = 1e-6;

impl Mode {
    /// Once in an epoch, with the paper's β.
    pub const AVERAGE: Self = Self::Average { every: 0, decay: DECAY };

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Sync => "sync",
            Mode::Average { .. } => "average",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let Mode::Average { every, decay } = *self else { return Ok(()) };
        let mut settings = Vec::new();
        if every != 0 {
            settings.push(format!("every={every}"));
        }
        if decay.to_bits() != DECAY.to_bits() {
            settings.push(format!("decay={decay:?}"));
        }
        if settings.is_empty() { Ok(()) } else { write!(f, ":{}", settings.join(",")) }
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let settings = settings.split(',').filter(|setting| !setting.trim().is_empty());
        let unknown = |setting: &str| {
            format!("`{name}` has no setting `{setting}`; `average:every=100,decay=1e-6` has both")
        };
        match name.trim() {
            "sync" => match settings.into_iter().next() {
                Some(setting) => Err(unknown(setting)),
                None => Ok(Mode::Sync),
            },
            "average" => {
                let (mut every, mut decay) = (0, DECAY);
                for setting in settings {
                    match setting.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
                        Some(("every", value)) => {
                            every = value.parse().map_err(|_| {
                                format!("`every` is a number of steps, and not `{value}`")
                            })?;
                        }
                        Some(("decay", value)) => {
                            decay = value
                                .parse()
                                .ok()
                                .filter(|decay| (0.0..1.0).contains(decay))
                                .ok_or_else(|| {
                                format!("`decay` is from 0 to below 1, and not `{value}`")
                            })?;
                        }
                        _ => return Err(unknown(setting)),
                    }
                }
                Ok(Mode::Average { every, decay })
            }
            other => Err(format!("there is no mode `{other}`: give `sync` or `average`")),
        }
    }
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// How many workers there are, and how they learn together. What is not said is as for all, and what
/// neither says is one worker, and [`Mode::Sync`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Together {
    /// How many workers.
    pub workers: Option<u32>,
    /// How they learn together.
    pub mode: Option<Mode>,
}

#[cfg(test)]
mod tests {
    use super::Mode;

    #[test]
    fn modes_are_written_as_they_are_read() {
        for text in ["sync", "average", "average:every=7", "average:every=7,decay=0.5"] {
            assert_eq!(text.parse::<Mode>().unwrap().to_string(), text);
        }
        assert_eq!("average:decay=1e-6".parse::<Mode>().unwrap(), Mode::AVERAGE);
    }

    #[test]
    fn other_modes_are_refused() {
        for (text, part) in [
            ("mean", "no mode `mean`"),
            ("sync:every=2", "no setting `every=2`"),
            ("average:often", "no setting `often`"),
            ("average:every=-1", "not `-1`"),
            ("average:decay=1", "not `1`"),
            ("average:decay=nan", "not `nan`"),
        ] {
            let error = text.parse::<Mode>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
