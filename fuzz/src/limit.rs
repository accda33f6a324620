//! An allocator that has little: a file that only claims to be large must be refused, or read in pieces.
//!
//! An allocation beyond the limit fails as on a machine whose memory is full. Code that asks first gets its answer, and
//! returns an error. Code that does not ask is aborted, which libFuzzer reports.

#![allow(unsafe_code, reason = "an allocator is unsafe by its nature")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Inputs have a few kilobytes. This is enough to unpack them a thousandfold.
const MOST: usize = 256 << 20;

struct Limited(AtomicUsize);

#[global_allocator]
static ALLOCATOR: Limited = Limited(AtomicUsize::new(0));

impl Limited {
    fn take(&self, bytes: usize) -> bool {
        let held = self.0.fetch_add(bytes, Relaxed);
        let fits = held.checked_add(bytes).is_some_and(|sum| sum <= MOST);
        if !fits {
            self.0.fetch_sub(bytes, Relaxed);
        }
        fits
    }
}

// SAFETY: everything is the system's allocator, and a null pointer is how an allocator refuses.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.take(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promises are those that the system's allocator needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !self.take(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.0.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.take(size) {
            return ptr::null_mut();
        }
        // SAFETY: as above.
        let moved = unsafe { System.realloc(at, layout, size) };
        self.0.fetch_sub(if moved.is_null() { size } else { layout.size() }, Relaxed);
        moved
    }
}
