//! An allocator that counts: how many bytes are live, and the most that ever were.
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait; this one only adds counts")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with counts.
#[derive(Debug)]
pub(crate) struct Counting;

fn grow(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
}

fn shrink(bytes: usize) {
    LIVE.fetch_sub(bytes, Relaxed);
}

// SAFETY: every call is handed to `System` as it came, and its answer is returned as it is. The
// counts are plain atomics: they neither allocate nor panic.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is the same for `System`.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            grow(layout.size());
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same for `System`.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            grow(layout.size());
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from `System` through this allocator, with this layout.
        unsafe { System.dealloc(block, layout) };
        shrink(layout.size());
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: `block` came from `System` through this allocator, with this layout, and the
        // caller keeps the rest of the contract of `realloc`.
        let moved = unsafe { System.realloc(block, layout, size) };
        if !moved.is_null() {
            // Large blocks are moved by remapping pages, so only the difference counts.
            match size.checked_sub(layout.size()) {
                Some(more) => grow(more),
                None => shrink(layout.size() - size),
            }
        }
        moved
    }
}

/// The bytes that are live now.
pub(crate) fn live() -> usize {
    LIVE.load(Relaxed)
}

/// Forgets the peak, runs `work`, and gives its result with the most bytes that were live during
/// it above those live before it.
pub(crate) fn extra<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = live();
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}
