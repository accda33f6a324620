//! How the list of errors is written.

/// Writes [`Error`](crate::Error) from one list that has each error once: its fields, what it is about
/// and the field that names the sequence, what it says and what to do about it, as `format!` takes them
/// and with the fields as variables, and examples of it.
macro_rules! errors {
    ($(#[$about:meta])* pub enum $name:ident { $(
        $(#[$what:meta])*
        $error:ident $({ $($field:ident: $type:ty = $meaning:literal,)* })?
        is $kind:ident $(at $index:ident)?,
        says($($says:tt)+),
        $(advises($($advice:tt)+),)?
        $(remedy($remedy:expr),)?
        like $({ $($example:tt)* })+ $(for $value:ident in $values:expr)?;
    )* }) => {
        $(#[$about])*
        pub enum $name {
            $($(#[$what])* $error $({ $(#[doc = $meaning] $field: $type,)* })?,)*
        }

        impl std::fmt::Display for $name {
            #[allow(unused_variables, reason = "not every field is in the message")]
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$error { $($($field),*)? } => write!(f, $($says)+),)*
                }
            }
        }

        /// What the list says, as [`Error`](crate::Error) gives it to others.
        impl $name {
            #[allow(unused_variables, reason = "not every field decides what to do")]
            fn listed_remedy(&self) -> Option<Remedy> {
                match self {
                    $(Self::$error { $($($field),*)? } => {
                        $(Some(Remedy::Advice(format!($($advice)+))))?
                        $($remedy)?
                    })*
                }
            }

            fn listed_kind(&self) -> (ErrorKind, Option<usize>) {
                match self {
                    $(Self::$error { $($index,)? .. } => {
                        (ErrorKind::$kind, None$(.or(Some(*$index)))?)
                    })*
                }
            }

            fn listed_examples() -> Vec<Self> {
                let mut all = Vec::new();
                $($(for $value in $values)? {
                    $(all.push(Self::$error { $($example)* });)+
                })*
                all
            }
        }
    };
}
pub(crate) use errors;
