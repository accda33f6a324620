//! A walk over Thrift's compact encoding that believes nothing. The library reserves memory for as
//! many elements, bytes and children as a header declares, before it looks for them; a few damaged
//! bytes can ask for more than any machine has, which ends the process. Here every declared size
//! must fit into the bytes that are left, and nothing nests deeply.

/// No metadata nests near this deep, and hardly any table.
pub const DEEPEST: usize = 64;

/// Why a walk ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// More bytes may make it whole.
    Short,
    /// No bytes can.
    Wrong,
    /// It may be whole, but is nested too deeply to be read.
    Deep,
}

/// The place in the bytes that the walk has come to.
#[derive(Debug)]
pub struct Walk<'a> {
    bytes: &'a [u8],
}

/// The kind of whole numbers.
pub const INT: u8 = 5;
/// The kind of lists.
pub const LIST: u8 = 9;
/// The kind of structures.
pub const STRUCT: u8 = 12;

impl<'a> Walk<'a> {
    /// From the beginning of the bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn byte(&mut self) -> Result<u8, Stop> {
        let (&first, rest) = self.bytes.split_first().ok_or(Stop::Short)?;
        self.bytes = rest;
        Ok(first)
    }

    fn advance(&mut self, count: u64) -> Result<(), Stop> {
        let count = usize::try_from(count).map_err(|_| Stop::Short)?;
        self.bytes = self.bytes.get(count..).ok_or(Stop::Short)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Stop> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Stop::Wrong)
    }

    /// A whole number, whose sign is in the last bit.
    pub fn int(&mut self) -> Result<i64, Stop> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// The size of a list and the kind of its elements.
    pub fn list(&mut self) -> Result<(u64, u8), Stop> {
        let head = self.byte()?;
        let size = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        if size > self.bytes.len() as u64 { Err(Stop::Short) } else { Ok((size, head & 15)) }
    }

    /// Walks a structure. `visit` is asked about every field, by number and kind, and says
    /// whether it has walked over the value itself.
    pub fn structure(
        &mut self,
        depth: usize,
        visit: &mut dyn FnMut(&mut Self, i64, u8) -> Result<bool, Stop>,
    ) -> Result<(), Stop> {
        let mut field = 0_i64;
        loop {
            let head = self.byte()?;
            let kind = head & 15;
            if kind == 0 {
                return Ok(());
            }
            field = if head >> 4 == 0 { self.int()? } else { field + i64::from(head >> 4) };
            if !(0..1 << 15).contains(&field) {
                return Err(Stop::Wrong);
            }
            // The truth of a boolean field is its kind; nothing follows.
            if kind > 2 && !visit(self, field, kind)? {
                self.skip(kind, depth + 1)?;
            }
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), Stop> {
        if depth > DEEPEST {
            return Err(Stop::Wrong);
        }
        match kind {
            1..=3 => self.advance(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let length = self.varint()?;
                self.advance(length)
            }
            LIST | 10 => {
                let (size, kind) = self.list()?;
                (0..size).try_for_each(|_| self.skip(kind, depth + 1))
            }
            11 => {
                let size = self.varint()?;
                if size > self.bytes.len() as u64 {
                    return Err(Stop::Short);
                }
                let kinds = if size == 0 { 0 } else { self.byte()? };
                (0..size).try_for_each(|_| {
                    self.skip(kinds >> 4, depth + 1)?;
                    self.skip(kinds & 15, depth + 1)
                })
            }
            STRUCT => self.structure(depth, &mut |_, _, _| Ok(false)),
            13 => self.advance(16),
            _ => Err(Stop::Wrong),
        }
    }
}

/// Reads a whole number that is not below 0.
pub fn positive(walk: &mut Walk, into: &mut u64) -> Result<bool, Stop> {
    *into = u64::try_from(walk.int()?).map_err(|_| Stop::Wrong)?;
    Ok(true)
}

/// Refuses the metadata of a Parquet file whose schema is no tree that its bytes can hold.
///
/// Field 2 of the metadata lists the schema, parents before children; field 5 of an element is
/// how many children it has.
pub fn check_schema(bytes: &[u8]) -> Result<(), Stop> {
    let mut children: Vec<u64> = Vec::new();
    Walk::new(bytes).structure(0, &mut |walk, field, kind| {
        if (field, kind) != (2, LIST) {
            return Ok(false);
        }
        let (size, kind) = walk.list()?;
        if kind != STRUCT {
            return Err(Stop::Wrong);
        }
        for _ in 0..size {
            let mut count = 0;
            walk.structure(2, &mut |walk, field, kind| match (field, kind) {
                (5, INT) => positive(walk, &mut count),
                _ => Ok(false),
            })?;
            children.push(count);
        }
        Ok(true)
    })?;
    // How many children are still to come at every level of the tree.
    let mut open: Vec<u64> = Vec::new();
    for (index, &count) in children.iter().enumerate() {
        if count > (children.len() - index - 1) as u64 {
            return Err(Stop::Wrong);
        }
        if open.len() > DEEPEST {
            return Err(Stop::Deep);
        }
        if let Some(last) = open.last_mut() {
            *last -= 1;
        }
        if count > 0 {
            open.push(count);
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(bytes: &[u8]) -> Result<(), Stop> {
        Walk::new(bytes).structure(0, &mut |_, _, _| Ok(false))
    }

    #[test]
    fn whole_and_cut() {
        // Field 1: 300; field 2: `ab`; field 3: a list of two numbers; field 4: a structure.
        let whole = [0x15, 0xd8, 4, 0x18, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x1c, 0x11, 0, 0];
        assert_eq!(walk(&whole), Ok(()));
        for cut in 0..whole.len() {
            assert_eq!(walk(&whole[..cut]), Err(Stop::Short), "{cut}");
        }
        assert_eq!(Walk::new(&[0xd8, 4]).int(), Ok(300));
        assert_eq!(Walk::new(&[3]).int(), Ok(-2));
    }

    #[test]
    fn absurd_sizes_and_depths() {
        let huge = [0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0];
        assert_eq!(walk(&huge), Err(Stop::Short));
        assert_eq!(walk(&[0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 7, 0, 0]), Err(Stop::Short));
        assert_eq!(walk(&[0x1c; 10_000]), Err(Stop::Wrong));
        assert_eq!(walk(&[0x19; 10_000]), Err(Stop::Wrong));
        assert_eq!(
            walk(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            Err(Stop::Wrong)
        );
    }

    #[test]
    fn schemas() {
        let schema = |children: &[u8]| {
            let mut bytes = vec![0x29, (children.len() as u8) << 4 | STRUCT];
            bytes.extend(children.iter().flat_map(|count| [0x55, count * 2, 0]));
            bytes.push(0);
            check_schema(&bytes)
        };
        assert_eq!(schema(&[2, 0, 1, 0]), Ok(()));
        assert_eq!(schema(&[2, 0, 60, 0]), Err(Stop::Wrong));
        let mut deep = vec![0x29, 0xfc, 0xe8, 7];
        deep.extend([0x55, 2, 0].repeat(1000));
        deep.push(0);
        assert_eq!(check_schema(&deep), Err(Stop::Deep));
    }
}
