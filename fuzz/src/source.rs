//! Numbers and choices from the bytes of an input, for targets that take settings and not files.

/// The bytes that are left. At their end every number is 0, so each input is a case.
pub(crate) struct Source<'a>(pub(crate) &'a [u8]);

impl Source<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    /// A number below `most`, which is at least 1.
    pub(crate) fn below(&mut self, most: u32) -> u32 {
        let byte = u32::from(self.byte());
        if most <= 256 { byte % most } else { (byte << 8 | u32::from(self.byte())) % most }
    }

    pub(crate) fn chance(&mut self, of: u32) -> bool {
        self.below(of) == of - 1
    }

    pub(crate) fn one_of<'b, T>(&mut self, all: &'b [T]) -> &'b T {
        &all[self.below(all.len() as u32) as usize]
    }

    /// A number of any size: mostly small, and often near a power of two.
    pub(crate) fn number(&mut self) -> u32 {
        match self.byte() {
            small @ 0..160 => small.into(),
            160..224 => self.below(1 << 16),
            near @ 224..255 => (1_u32 << (near - 224)).wrapping_sub(self.below(3)).wrapping_add(1),
            255 => u32::MAX - u32::from(self.byte()),
        }
    }

    /// Up to `most` lengths, none of them 0, of one of three sizes.
    pub(crate) fn lengths(&mut self, most: u32) -> Vec<u32> {
        let (kind, count) = (self.below(3), 1 + self.below(most));
        let one = |_| match kind {
            0 => 1 + u32::from(self.byte()) % 64,
            1 => 1 + u32::from(self.byte()) * 5,
            _ => self.number().max(1),
        };
        (0..count).map(one).collect()
    }
}
