//! How many micro-batches of a capacity are needed, and sequences in as many.

use std::cmp::Reverse;

/// What is placed as one: a sequence, or several that stay together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Item {
    /// Its positions.
    pub(crate) tokens: u64,
    /// How long it takes.
    pub(crate) cost: f64,
    /// What it may share a micro-batch with.
    pub(crate) kind: u32,
}

/// A micro-batch that is being filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bin {
    pub(crate) tokens: u64,
    pub(crate) items: u32,
    pub(crate) kind: u32,
}

impl Bin {
    /// Whether it can take this item as well.
    pub(crate) fn takes(&self, item: &Item, capacity: u64) -> bool {
        self.items == 0 && item.tokens <= capacity
            || self.kind == item.kind && self.tokens + item.tokens <= capacity
    }

    pub(crate) fn add(&mut self, item: &Item) {
        *self = Self { tokens: self.tokens + item.tokens, items: self.items + 1, kind: item.kind };
    }

    pub(crate) fn remove(&mut self, item: &Item) {
        self.tokens -= item.tokens;
        self.items -= 1;
    }
}

/// No division into micro-batches has fewer: by the sum of the tokens of each kind, and by the items of which no
/// two fit together (Martello and Toth's bound L2).
pub(crate) fn least(items: &[Item], capacity: u64) -> u64 {
    let Some(first) = items.first() else { return 0 };
    if items.iter().all(|item| item.kind == first.kind) {
        return least_of_kind(items.iter().map(|item| item.tokens).collect(), capacity);
    }
    let mut by_kind: Vec<&Item> = items.iter().collect();
    by_kind.sort_unstable_by_key(|item| item.kind);
    let kinds = by_kind.chunk_by(|a, b| a.kind == b.kind);
    kinds.map(|kind| least_of_kind(kind.iter().map(|item| item.tokens).collect(), capacity)).sum()
}

fn least_of_kind(mut tokens: Vec<u64>, capacity: u64) -> u64 {
    let all: u64 = tokens.iter().sum();
    let mut best = all.div_ceil(capacity.max(1)).max(1);
    // Of those above half the capacity no two fit together. Without them, the sum says all.
    if tokens.iter().all(|&own| 2 * own <= capacity) {
        return best;
    }
    tokens.sort_unstable_by(|a, b| b.cmp(a));
    let halves = tokens.partition_point(|&own| 2 * own > capacity);
    // Items of at least `small` do not fit beside those above `capacity - small`, which are the first `alone`: they
    // go into the space beside the other halves, or into further micro-batches.
    let (mut alone, mut beside, mut others) = (halves, 0, 0);
    for &small in &tokens[halves..] {
        others += small;
        while alone > 0 && tokens[alone - 1] + small <= capacity {
            alone -= 1;
            beside += capacity - tokens[alone];
        }
        best = best.max(halves as u64 + u64::saturating_sub(others, beside).div_ceil(capacity));
    }
    best.max(halves as u64)
}

/// The items in at most `count` bins, by best fit, the largest first; by trying what else there is if that fails.
/// Gives the bin of each item.
pub(crate) fn packed(items: &[Item], capacity: u64, count: usize) -> Option<Vec<u32>> {
    let all = items.iter().map(|item| item.tokens).sum();
    // What can hold all of them is as good as no limit, and can be summed.
    let capacity = capacity.min(all);
    let mut order: Vec<u32> = (0..items.len() as u32).collect();
    order.sort_by_key(|&item| Reverse(items[item as usize].tokens));
    best_fit(items, &order, capacity, count).or_else(|| {
        let mut search = Search {
            items,
            order: &order,
            capacity,
            count,
            left: SEARCH / (1 + items.len() / 64),
            bins: Vec::new(),
            bin_of: vec![0; items.len()],
        };
        (search.place(0, all) == Some(true)).then_some(search.bin_of)
    })
}

fn best_fit(items: &[Item], order: &[u32], capacity: u64, count: usize) -> Option<Vec<u32>> {
    let mut bins: Vec<Bin> = Vec::new();
    let mut bin_of = vec![0; items.len()];
    // Bins by kind and free space.
    let mut by_space: std::collections::BTreeSet<(u32, u64, u32)> =
        std::collections::BTreeSet::new();
    for &at in order {
        let item = &items[at as usize];
        let found = by_space
            .range((item.kind, item.tokens, 0)..=(item.kind, u64::MAX, u32::MAX))
            .next()
            .copied();
        let bin = if let Some(found) = found {
            by_space.remove(&found);
            found.2
        } else {
            if bins.len() == count || item.tokens > capacity {
                return None;
            }
            bins.push(Bin::default());
            bins.len() as u32 - 1
        };
        bins[bin as usize].add(item);
        by_space.insert((item.kind, capacity - bins[bin as usize].tokens, bin));
        bin_of[at as usize] = bin;
    }
    Some(bin_of)
}

/// So many placements are tried.
const SEARCH: usize = 20_000;

/// Tries every bin for every item, the largest item first, as long as there are tries left.
struct Search<'a> {
    items: &'a [Item],
    order: &'a [u32],
    capacity: u64,
    count: usize,
    left: usize,
    bins: Vec<Bin>,
    bin_of: Vec<u32>,
}

impl Search<'_> {
    /// Whether the items from this one on can be placed; nothing if there are no tries left.
    fn place(&mut self, at: usize, to_place: u64) -> Option<bool> {
        let Some(&item) = self.order.get(at) else { return Some(true) };
        self.left = self.left.checked_sub(1)?;
        let free: u64 = self.bins.iter().map(|bin| self.capacity - bin.tokens).sum();
        let unused = (self.count - self.bins.len()) as u64;
        if unused.saturating_mul(self.capacity).saturating_add(free) < to_place {
            return Some(false);
        }
        let own = self.items[item as usize];
        let mut tried = Vec::new();
        for bin in 0..self.bins.len() {
            let before = self.bins[bin];
            if tried.contains(&(before.tokens, before.kind)) || !before.takes(&own, self.capacity) {
                continue;
            }
            tried.push((before.tokens, before.kind));
            self.bins[bin].add(&own);
            self.bin_of[item as usize] = bin as u32;
            let whole = self.bins[bin].tokens == self.capacity;
            if self.place(at + 1, to_place - own.tokens)? {
                return Some(true);
            }
            self.bins[bin] = before;
            // Nothing is better for a bin than to be full.
            if whole {
                return Some(false);
            }
        }
        if self.bins.len() < self.count && own.tokens <= self.capacity {
            let mut bin = Bin::default();
            bin.add(&own);
            self.bin_of[item as usize] = self.bins.len() as u32;
            self.bins.push(bin);
            if self.place(at + 1, to_place - own.tokens)? {
                return Some(true);
            }
            self.bins.pop();
        }
        Some(false)
    }
}
