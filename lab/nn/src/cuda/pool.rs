//! Free memory, kept for later use.

use std::collections::BTreeMap;

/// The size that is taken for so many bytes: eight sizes to a doubling, so that memory of one batch
/// serves the next of about its size, and a batch of a shape seen before finds all it needs.
pub(super) fn size_class(bytes: usize) -> usize {
    let bytes = bytes.max(512);
    let step = (1 << bytes.ilog2() >> 3).max(512);
    bytes.next_multiple_of(step)
}

/// What is free, by size, and what is in use.
#[derive(Debug, Default)]
pub(super) struct Pool {
    free: BTreeMap<usize, Vec<u64>>,
    /// Bytes that were asked for and are in use.
    live: u64,
    /// The most of them at a time.
    peak: u64,
    /// How often nothing free was found.
    misses: u64,
}

impl Pool {
    /// A free address of this size.
    pub(super) fn take(&mut self, class: usize) -> Option<u64> {
        let found = self.free.get_mut(&class).and_then(Vec::pop);
        self.misses += u64::from(found.is_none());
        found
    }

    /// Gives an address back.
    pub(super) fn put(&mut self, class: usize, address: u64) {
        self.free.entry(class).or_default().push(address);
    }

    /// All free addresses, which are no longer the pool's.
    pub(super) fn drain(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.free).into_values().flatten().collect()
    }

    /// Counts bytes that come into use.
    pub(super) fn count(&mut self, bytes: usize) {
        self.live += bytes as u64;
        self.peak = self.peak.max(self.live);
    }

    /// Counts bytes that are no longer in use.
    pub(super) fn discount(&mut self, bytes: usize) {
        self.live -= bytes as u64;
    }

    pub(super) fn live(&self) -> u64 {
        self.live
    }

    /// How often nothing free was found.
    #[cfg(test)]
    pub(super) fn misses(&self) -> u64 {
        self.misses
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    pub(super) fn reset_peak(&mut self) {
        self.peak = self.live;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_room_and_waste_little() {
        for bytes in (1..5000).chain([1 << 20, (1 << 20) + 1, 123_456_789]) {
            let class = size_class(bytes);
            assert!(class >= bytes && class.is_multiple_of(512), "{bytes}");
            assert!(class <= (bytes + 511).max(bytes + bytes / 8 + 1), "{bytes}: {class}");
            assert_eq!(size_class(class), class, "{bytes}");
        }
    }

    #[test]
    fn what_is_given_back_is_found_again() {
        let mut pool = Pool::default();
        assert_eq!(pool.take(512), None);
        pool.put(512, 7);
        pool.put(1024, 8);
        assert_eq!(pool.take(512), Some(7));
        assert_eq!(pool.take(512), None);
        assert_eq!(pool.misses(), 2);
        assert_eq!(pool.drain(), [8]);
        pool.count(10);
        pool.count(20);
        pool.discount(20);
        assert_eq!((pool.live(), pool.peak()), (10, 30));
        pool.reset_peak();
        assert_eq!(pool.peak(), 10);
    }
}
