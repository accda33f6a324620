//! The columns of a table: a row for each sequence.

use std::sync::Arc;

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::errors::Result as ParquetResult;
use ::parquet::schema::types::Type;
use xxhash_rust::xxh3::Xxh3;

use crate::plan::parquet::ids;

/// The columns, in order. The last two are there if pieces were planned, and the second ones of a batch
/// if sequences have two lengths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Batch,
    BatchLength,
    BatchPositions,
    SecondLength,
    SecondPositions,
    Sequence,
    Offset,
    Length,
}

impl Column {
    pub(super) fn all(pieces: bool, pairs: bool) -> &'static [Column] {
        use Column::{
            Batch, BatchLength, BatchPositions, Length, Offset, SecondLength, SecondPositions,
            Sequence,
        };
        let all = &[Batch, BatchLength, BatchPositions, Sequence, Offset, Length];
        let of_pairs = &[
            Batch,
            BatchLength,
            BatchPositions,
            SecondLength,
            SecondPositions,
            Sequence,
            Offset,
            Length,
        ];
        match (pieces, pairs) {
            (true, false) => all,
            (false, false) => &all[..4],
            (true, true) => of_pairs,
            (false, true) => &of_pairs[..6],
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Column::Batch => "batch",
            Column::BatchLength => "batch_length",
            Column::BatchPositions => "batch_positions",
            Column::SecondLength => "second_batch_length",
            Column::SecondPositions => "second_batch_positions",
            Column::Sequence => "sequence",
            Column::Offset => "offset",
            Column::Length => "length",
        }
    }

    /// How many bytes its numbers have.
    pub(super) fn size(self) -> usize {
        if matches!(self, Column::BatchPositions | Column::SecondPositions) { 8 } else { 4 }
    }

    /// Its type: whole numbers from 0 on, of as many bytes.
    fn schema(self) -> ParquetResult<Type> {
        let physical = if self.size() == 8 { Physical::INT64 } else { Physical::INT32 };
        let bit_width = 8 * self.size() as i8;
        Type::primitive_type_builder(self.name(), physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::integer(bit_width, false)))
            .build()
    }

    /// Adds the numbers to the checksum.
    pub(super) fn hash(self, numbers: &[u64], hash: &mut Xxh3) {
        let mut bytes = Vec::with_capacity(numbers.len() * self.size());
        for number in numbers {
            bytes.extend_from_slice(&number.to_le_bytes()[..self.size()]);
        }
        hash.update(&bytes);
    }
}

/// The type of a row: numbers, and behind them an id, if there are ids.
pub(super) fn schema(columns: &[Column], ids: bool) -> ParquetResult<Type> {
    let fields = columns.iter().map(|column| column.schema());
    let fields = fields.chain(ids.then(ids::schema)).map(|field| field.map(Arc::new));
    Type::group_type_builder("plan").with_fields(fields.collect::<Result<_, _>>()?).build()
}
