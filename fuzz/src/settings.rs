//! Every string form: what is parsed is printed, and parsed again it is the same.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use lengthwise::groups::{Mix, OneKind, Together};
use lengthwise::stream::Pivot;
use lengthwise::tune::{Like, Model};
use lengthwise::{
    Arrange, Budget, CostModel, Error, Example, OverLong, Shapes, Steps, Strategy, Tail, Update,
};
use lengthwise_io::{Format, Unit, memory, model_file, model_file_of_budget};

use crate::tables::check_line;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    same::<Strategy>(text);
    same::<Budget>(text);
    same::<Shapes>(text);
    same::<Update>(text);
    same::<CostModel>(text);
    same::<Like>(text);
    same::<Model>(text);
    same::<Mix>(text);
    same::<Arrange>(text);
    same::<Steps>(text);
    same::<Tail>(text);
    same::<Together>(text);
    same::<OneKind>(text);
    same::<OverLong>(text);
    same::<Pivot>(text);
    same::<Example>(text);
    for parsed in [
        text.parse::<Format>().map(|format| format.to_string()).ok(),
        text.parse::<Unit>().map(|unit| unit.to_string()).ok(),
    ] {
        assert!(parsed.is_none_or(|printed| printed == text));
    }
    _ = (model_file(text), model_file_of_budget(text));
    if let Ok(bytes) = memory::size(text) {
        let printed = memory::in_words(bytes, f64::ceil);
        assert!(
            memory::size(&printed).is_ok_and(|again| again >= bytes || again > 1 << 50),
            "{printed}"
        );
    }
}

fn same<T: FromStr<Err = Error> + Display + PartialEq + Debug>(text: &str) {
    match text.parse::<T>() {
        Ok(parsed) => {
            let printed = parsed.to_string();
            assert_eq!(printed.parse::<T>().as_ref(), Ok(&parsed), "{printed}");
        }
        Err(error) => check_refusal(&error),
    }
}

/// An error is one line, and says what to do.
pub(crate) fn check_refusal(error: &Error) {
    check_line(&error.to_string());
    check_line(&error.hint().expect("every error has a hint"));
}
