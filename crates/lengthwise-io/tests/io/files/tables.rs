//! Parquet files: what is in them, and those that are made to do harm.

use std::sync::Arc;

use crate::files::common::{kinds, named, refusal, said, small, written};
use expect_test::expect;
use lengthwise::{Budget, Lengths, Planner, strategy::Shuffled};
use lengthwise_io::{Form, PlanFile, read_plan_from};
use parquet::{
    data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type},
    file::{
        metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader},
        properties::WriterProperties,
        writer::SerializedFileWriter,
    },
    schema::{parser::parse_message_type, printer::print_schema},
};
use xxhash_rust::xxh3::Xxh3;

fn metadata(bytes: &[u8]) -> ParquetMetaData {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap()
}

fn header(bytes: &[u8]) -> String {
    let metadata = metadata(bytes);
    let all = metadata.file_metadata().key_value_metadata().unwrap();
    assert_eq!((all.len(), all[0].key.as_str()), (1, "lengthwise"));
    all[0].value.clone().unwrap()
}

#[test]
fn the_table_keeps_its_contract() {
    let said = |file: &PlanFile| {
        let bytes = written(file, Form::Parquet);
        assert_eq!(bytes, written(file, Form::Parquet), "the same whenever it is written");
        let mut said = Vec::new();
        print_schema(&mut said, metadata(&bytes).file_metadata().schema());
        String::from_utf8(said).unwrap() + &header(&bytes)
    };
    expect![[r#"
        message plan {
          REQUIRED INT32 batch (INTEGER(32,false));
          REQUIRED INT32 batch_length (INTEGER(32,false));
          REQUIRED INT64 batch_positions (INTEGER(64,false));
          REQUIRED INT32 sequence (INTEGER(32,false));
          REQUIRED INT32 offset (INTEGER(32,false));
          REQUIRED INT32 length (INTEGER(32,false));
        }
        {"version":1,"digest":"ba7462e0e9d4c965","made":{"strategy":"sorted","budget":"padded:5","shapes":"exact","arrange":"spread","over_long":"truncate","steps":"stratified","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"5207fbf33c8e92c3"},"over_long":[1,4,6],"chunks":{"sequences":[0,1,1,2,3,3,4,4,5,6],"offsets":[0,0,6,0,0,6,0,6,0,0],"lengths":[5,6,3,4,6,1,6,1,1,3]},"ranks":{"world_size":2,"accumulate":1,"steps":4,"step_counts":{"sequences":[2,4,2,2],"positions":[8,8,8,9]},"step_mix":2.088},"checksum":"40c3c6edbce580c3"}
    "#]].assert_eq(&said(&small()));
    expect![[r#"
        message plan {
          REQUIRED INT32 batch (INTEGER(32,false));
          REQUIRED INT32 batch_length (INTEGER(32,false));
          REQUIRED INT64 batch_positions (INTEGER(64,false));
          REQUIRED INT32 sequence (INTEGER(32,false));
        }
        {"version":1,"digest":"274ab1b8cd1ec452","made":{"strategy":"shuffled","budget":"padded:400","shapes":"exact","arrange":"spread","over_long":"error","steps":"stratified","tail":"split","accumulate":1,"seed":18446744073709551615,"epoch":5,"lengths":"734f7c6b2f1f0d6f"},"checksum":"4362a0f09efe5b97"}
    "#]].assert_eq(&said(&kinds()[0]));
    expect![[r#"
        message plan {
          REQUIRED INT32 batch (INTEGER(32,false));
          REQUIRED INT32 batch_length (INTEGER(32,false));
          REQUIRED INT64 batch_positions (INTEGER(64,false));
          REQUIRED INT32 sequence (INTEGER(32,false));
          REQUIRED INT32 offset (INTEGER(32,false));
          REQUIRED INT32 length (INTEGER(32,false));
          REQUIRED BYTE_ARRAY id (STRING);
        }
        {"version":2,"digest":"ba7462e0e9d4c965","made":{"strategy":"sorted","budget":"padded:5","shapes":"exact","arrange":"spread","over_long":"truncate","steps":"stratified","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"5207fbf33c8e92c3"},"over_long":[1,4,6],"chunks":{"sequences":[0,1,1,2,3,3,4,4,5,6],"offsets":[0,0,6,0,0,6,0,6,0,0],"lengths":[5,6,3,4,6,1,6,1,1,3]},"ranks":{"world_size":2,"accumulate":1,"steps":4,"step_counts":{"sequences":[2,4,2,2],"positions":[8,8,8,9]},"step_mix":2.088},"checksum":"c3bea672e52085e6"}
    "#]].assert_eq(&said(&named(small())));
}

/// More than one group of rows, and batches in two of them.
#[test]
fn large_tables_are_read_back() {
    let lengths = Lengths::new((0..2_200_000).map(|i| 1 + i % 1000).collect::<Vec<u32>>()).unwrap();
    let plan = Planner::new(Shuffled, Budget::sequences(1000)).plan(&lengths, 0).unwrap();
    let file = PlanFile::new(plan, &lengths);
    let bytes = written(&file, Form::Parquet);
    assert_eq!(metadata(&bytes).num_row_groups(), 3);
    assert_eq!(read_plan_from(&bytes, Form::Parquet).unwrap(), file);
    // What repeats takes little room beside the sequences.
    assert!(bytes.len() < 5 * 2_200_000, "{}", bytes.len());
}

/// The columns of a table of three rows, to be changed.
#[derive(Clone)]
struct Table {
    schema: String,
    columns: Vec<Vec<i64>>,
    header: String,
}

const COLUMNS: [(&str, u8); 4] =
    [("batch", 4), ("batch_length", 4), ("batch_positions", 8), ("sequence", 4)];

impl Table {
    fn new() -> Self {
        let lengths = Lengths::new([5, 9, 4]).unwrap();
        let plan = Planner::new(lengthwise::strategy::Sorted, Budget::sequences(2))
            .arrange(lengthwise::Arrange::AsBuilt)
            .plan(&lengths, 0)
            .unwrap();
        let bytes = written(&PlanFile::new(plan, &lengths), Form::Parquet);
        let header = header(&bytes);
        let fields = COLUMNS.map(|(name, size)| {
            format!("required int{0} {name} (integer({0}, false)); ", 8 * size)
        });
        let fields = fields.concat();
        Self {
            schema: format!("message plan {{ {fields}}}"),
            columns: vec![vec![0, 0, 1], vec![5, 5, 9], vec![9, 9, 9], vec![2, 0, 1]],
            header: header[..header.rfind(",\"checksum\"").unwrap()].to_owned(),
        }
    }

    fn schema(mut self, from: &str, to: &str) -> Self {
        assert!(self.schema.contains(from), "{from} in {}", self.schema);
        self.schema = self.schema.replacen(from, to, 1);
        self
    }

    fn header(mut self, from: &str, to: &str) -> Self {
        assert!(self.header.contains(from), "{from} in {}", self.header);
        self.header = self.header.replacen(from, to, 1);
        self
    }

    fn column(mut self, at: usize, numbers: &[i64]) -> Self {
        self.columns[at] = numbers.to_vec();
        self
    }

    /// The file, with a right checksum.
    fn written(&self) -> Vec<u8> {
        let mut hash = Xxh3::new();
        for ((_, size), numbers) in COLUMNS.iter().zip(&self.columns) {
            for number in numbers {
                hash.update(&number.to_le_bytes()[..usize::from(*size)]);
            }
        }
        hash.update(self.header.as_bytes());
        let header = format!("{},\"checksum\":\"{:016x}\"}}\n", self.header, hash.digest());
        self.written_with(vec![KeyValue::new("lengthwise".to_owned(), header)])
    }

    fn written_with(&self, metadata: Vec<KeyValue>) -> Vec<u8> {
        let schema = Arc::new(parse_message_type(&self.schema).unwrap());
        let optional = schema.get_fields()[0].is_optional();
        let wide: Vec<bool> = schema
            .get_fields()
            .iter()
            .map(|field| field.get_physical_type() == parquet::basic::Type::INT64)
            .collect();
        let properties = WriterProperties::builder().set_key_value_metadata(Some(metadata));
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for (at, (numbers, wide)) in self.columns.iter().zip(wide).enumerate() {
            let mut column = group.next_column().unwrap().unwrap();
            let levels = vec![1; numbers.len()];
            let levels = (optional && at == 0).then_some(&levels[..]);
            if wide {
                column.typed::<Int64Type>().write_batch(numbers, levels, None).unwrap();
            } else {
                let numbers: Vec<i32> = numbers.iter().map(|&number| number as i32).collect();
                column.typed::<Int32Type>().write_batch(&numbers, levels, None).unwrap();
            }
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
        bytes
    }
}

#[test]
fn what_is_wrong_with_tables_is_said() {
    let table = Table::new;
    assert_eq!(read_plan_from(&table().written(), Form::Parquet).unwrap().plan.len(), 2);
    let none = table().written_with(Vec::new());
    let other = table().written_with(vec![KeyValue::new("lengthwise".to_owned(), None)]);
    let unsealed = KeyValue::new("lengthwise".to_owned(), "{\"version\":1}".to_owned());
    let mut many = table();
    many.columns = vec![vec![0; 100_000], vec![5; 100_000], vec![9; 100_000], vec![0; 100_000]];
    let mut three = table().schema("required int32 sequence (integer(32, false)); ", "");
    three.columns.pop();
    let mut five = table().schema("}", "required int32 offset (integer(32, false)); }");
    five.columns.push(vec![0, 0, 0]);
    let said: String = [
        b"PAR1PAR1".to_vec(),
        b"PAR1\xff\xff\xff\xffPAR1".to_vec(),
        b"PAR1\x19\xfc\xff\xff\xff\xff\x07\x07\0\0\0PAR1".to_vec(),
        none,
        other,
        table().written_with(vec![unsealed]),
        many.written(),
        table().schema("int32 batch (integer(32, false))", "int32 batch").written(),
        table()
            .schema("int32 batch (integer(32, false))", "int32 batch (integer(32, true))")
            .written(),
        table().schema("required int32 batch ", "optional int32 batch ").written(),
        table().schema("sequence", "sequences").written(),
        three.written(),
        five.written(),
        table().column(0, &[0, 0, 2]).written(),
        table().column(0, &[1, 1, 2]).written(),
        table().column(0, &[0, 1, 0]).written(),
        table().column(0, &[0, 0, -1]).written(),
        table().column(1, &[5, 4, 9]).written(),
        table().column(2, &[9, -1, 9]).written(),
        table().column(3, &[2, 2, 1]).written(),
        table().column(1, &[0, 0, 9]).written(),
        table().header("\"digest\":\"", "\"digest\":\"x").written(),
        table()
            .header(
                "\"made\"",
                "\"chunks\":{\"sequences\":[0],\"offsets\":[0],\"lengths\":[9]},\"made\"",
            )
            .written(),
        table().header("\"made\"", "\"ranks\":7,\"made\"").written(),
    ]
    .iter()
    .map(|bytes| refusal(bytes, Form::Parquet))
    .collect();
    expect![[r#"
        the plan is cut off or not a plan: it does not begin and end as a Parquet file
        the plan is cut off or not a plan: its metadata has more bytes than the file
        the plan is cut off or not a plan: its metadata is damaged
        the plan is cut off or not a plan: its metadata has no `lengthwise`
        the plan is cut off or not a plan: its metadata has no `lengthwise`
        the plan has no checksum
        the plan is cut off or not a plan: it claims 100000 rows in 1911 bytes
        the plan is cut off or not a plan: column `batch` is missing, or not as plans have it
        the plan is cut off or not a plan: column `batch` is missing, or not as plans have it
        the plan is cut off or not a plan: column `batch` is missing, or not as plans have it
        the plan is cut off or not a plan: column `sequence` is missing, or not as plans have it
        the plan is cut off or not a plan: it has 3 columns
        the plan is cut off or not a plan: column `id` is missing, or not as plans have it
        the plan is cut off or not a plan: row 2 has batch 2, after 1 batches
        the plan is cut off or not a plan: row 0 has batch 1, after 0 batches
        the plan is cut off or not a plan: row 2 has batch 0, after 2 batches
        the plan is cut off or not a plan: row 2 has batch 4294967295, after 1 batches
        the plan is cut off or not a plan: batch 0 has `batch_length` 5 and 4
        the plan is cut off or not a plan: batch 0 has `batch_positions` 9 and 18446744073709551615
        the plan has been altered: its digest is 3f3b4fdf626f2fd7, its batches have f3118c5fb7ddf53e
        the plan is cut off or not a plan: the plan is not valid: batch 0 is empty
        the plan is cut off or not a plan: `digest` `x3f3b4fdf626f2fd7` is not a fingerprint
        the plan is cut off or not a plan: a batch has chunks, or sequences, against the list of chunks
        the plan is cut off or not a plan: invalid type: integer `7`, expected an object of ranks at line 1 column 50
    "#]].assert_eq(
        &said.replace("\n  make the plan again, or copy the file again from where it was made", ""),
    );
}

/// A word that is written once and meant by every row would be ids without end.
#[test]
fn ids_have_no_more_bytes_than_the_file() {
    let lengths = Lengths::new([1; 1000]).unwrap();
    let plan = Planner::new(Shuffled, Budget::sequences(1000)).plan(&lengths, 0).unwrap();
    let word = "x".repeat(100_000);
    let file = PlanFile::new(plan, &lengths).ids(|_| &word);
    let whole = written(&file, Form::Parquet);
    assert_eq!(read_plan_from(&whole, Form::Parquet).unwrap(), file);

    let metadata = metadata(&whole);
    let schema = metadata.file_metadata().schema_descr().root_schema_ptr();
    let pairs = metadata.file_metadata().key_value_metadata().cloned();
    let properties = WriterProperties::builder().set_key_value_metadata(pairs).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let sequences = file.plan.indices().iter().map(|index| index.cast_signed()).collect();
    for numbers in [Some(vec![0; 1000]), Some(vec![1; 1000]), None, Some(sequences)] {
        let mut column = group.next_column().unwrap().unwrap();
        match numbers {
            Some(numbers) => column.typed::<Int32Type>().write_batch(&numbers, None, None),
            None => column.typed::<Int64Type>().write_batch(&[1000; 1000], None, None),
        }
        .unwrap();
        column.close().unwrap();
    }
    let mut column = group.next_column().unwrap().unwrap();
    let words = vec![ByteArray::from(word.as_str()); 1000];
    column.typed::<ByteArrayType>().write_batch(&words, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    assert!(bytes.len() < 200_000, "{}", bytes.len());
    expect![[r#"
        the plan is cut off or not a plan: its ids have more bytes than the file
          make the plan again, or copy the file again from where it was made
    "#]]
    .assert_eq(&refusal(&bytes, Form::Parquet));
}

/// A later version may have other columns.
#[test]
fn other_versions_are_refused_by_number() {
    let later = Table::new().schema("sequence", "row").header("\"version\":1", "\"version\":5");
    let error = read_plan_from(&later.written(), Form::Parquet).unwrap_err();
    assert!(!error.is_damaged());
    expect![[r#"
        the plan has version 5, but this release reads versions 1 to 4
          use the release of lengthwise that wrote it
    "#]]
    .assert_eq(&said(&error));
}
