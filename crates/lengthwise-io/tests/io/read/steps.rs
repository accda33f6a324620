//! Measured steps: what is read, and what is refused with its line and a hint.

use lengthwise_io::{MeasuredStep, read_steps, read_steps_from};
use proptest::prelude::*;

fn read(text: &str) -> Result<Vec<MeasuredStep>, lengthwise_io::Error> {
    read_steps_from(text.as_bytes(), "f")
}

#[test]
fn columns_go_by_name_and_others_are_passed_over() {
    let text = "\u{feff}model,Seconds,batch_length,batch_size,note\r\n\
                encoder, 0.0125 ,400,16,\"a, b\"\r\n\r\nencoder,2e-3,50.0,1,\r\n";
    let step = |line, batch_size, batch_length, seconds| MeasuredStep {
        line,
        batch_size,
        batch_length,
        seconds,
    };
    assert_eq!(read(text).unwrap(), [step(2, 16, 400, 0.0125), step(4, 1, 50, 0.002)]);
}

#[test]
fn bad_tables_are_refused_with_their_line_and_a_hint() {
    let header = "the first line names the columns, among them `batch_size`, `batch_length` and \
                  `seconds`";
    let whole = "batch sizes and batch lengths are whole numbers from 1 to 4294967295";
    let positive = "times are seconds above 0";
    let good = "batch_size,batch_length,seconds\n";
    for (rows, message, hint) in [
        (
            "1,2",
            "f:2: the record has 2 fields, but the first has 3",
            "complete the record, or leave it out",
        ),
        (
            "1,2,3,4",
            "f:2: the record has 4 fields, but the first has 3",
            "put quotes round fields that hold the separator",
        ),
        ("1,2,3\n0,2,3", "f:3: column `batch_size` holds `0`, which is less than 1", whole),
        ("1,2.5,3", "f:2: column `batch_length` holds `2.5`, which is not a whole number", whole),
        ("1,,3", "f:2: column `batch_length` is empty", whole),
        ("1,2,", "f:2: column `seconds` is empty", positive),
        ("1,2,soon", "f:2: column `seconds` holds `soon`, which is not a number", positive),
        ("1,2,nan", "f:2: column `seconds` holds `nan`, which is not a finite number", positive),
        (
            "1,2,1e999",
            "f:2: column `seconds` holds `1e999`, which is not a finite number",
            positive,
        ),
        ("1,2,-3", "f:2: column `seconds` holds `-3`, which is negative", positive),
        ("1,2,0", "f:2: column `seconds` holds `0`, which is not above 0", positive),
        ("\n", "f: holds no measured steps", "add a line for each step"),
    ] {
        let error = read(&format!("{good}{rows}")).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.hint().as_deref()), (message, Some(hint)));
    }
    for (text, message, hint) in [
        ("", "f: holds no measured steps", header),
        (
            "batch_size,length,seconds\n1,2,3\n",
            "f: there is no column `batch_length`; the columns are `batch_size`, `length`, `seconds`",
            header,
        ),
        (
            "1,2,3\n4,5,6\n",
            "f: there is no column `batch_size`; the columns are `1`, `2`, `3`",
            header,
        ),
        (
            "seconds,batch_size,batch_length,seconds\n1,2,3,4\n",
            "f: columns 1 and 4 are both named `seconds`",
            "give each column a name of its own",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.hint().as_deref()), (message, Some(hint)));
    }
    let error = read_steps(std::path::Path::new("no/such.csv")).unwrap_err();
    assert_eq!(error.to_string(), "no/such.csv: no such file or directory");
}

proptest! {
    #[test]
    fn times_are_read_to_the_last_bit(
        steps in proptest::collection::vec((1..u32::MAX, 1..u32::MAX, 1e-9..1e9_f64), 1..20),
    ) {
        let rows = steps.iter().map(|(size, length, seconds)| format!("{size},{length},{seconds}\n"));
        let text = "batch_size,batch_length,seconds\n".to_owned() + &rows.collect::<String>();
        let found: Vec<_> = read(&text)
            .unwrap()
            .into_iter()
            .map(|step| (step.batch_size, step.batch_length, step.seconds))
            .collect();
        prop_assert_eq!(found, steps);
    }

    #[test]
    fn no_table_makes_the_reader_panic(text in "(batch_size,batch_length,seconds\n)?[0-9,.e\"\r\n-]{0,40}") {
        let _ = read(&text);
    }
}
