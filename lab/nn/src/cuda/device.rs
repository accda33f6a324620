//! The driver and cuBLAS.
#![expect(unsafe_code, reason = "the driver and cuBLAS are called through pointers")]

use std::{
    ffi::{CString, c_void},
    sync::{Mutex, MutexGuard, PoisonError},
};

use cudarc::{
    cublas::{
        result as blas,
        sys::{self as blas_sys, cublasOperation_t as Operation},
    },
    driver::{
        result::{self, DriverError},
        sys::{self, CUdevice_attribute_enum as Attribute, CUfunction_attribute_enum as Limit},
    },
};

use super::{
    kernels::{self, Argument, Kernel, NAMES, PTX},
    pool::{Pool, size_class},
    span::{Matrix, Span},
};
use crate::engine::EngineError;

/// So many bytes may be on their way to the device before it is waited for.
const UNDERWAY: usize = 256 << 20;

/// Types whose bytes may be copied to and from the device.
///
/// # Safety
///
/// Any bytes are a value, and all bytes of a value are set.
pub(super) unsafe trait Plain: Copy + Default {}
// SAFETY: numbers.
unsafe impl Plain for f32 {}
// SAFETY: numbers.
unsafe impl Plain for f64 {}
// SAFETY: numbers.
unsafe impl Plain for u32 {}

/// A device, its one queue of work and its memory.
#[derive(Debug)]
pub(super) struct Device {
    name: String,
    number: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    module: sys::CUmodule,
    functions: Vec<sys::CUfunction>,
    blas: blas_sys::cublasHandle_t,
    /// How many blocks run at the same time if each has a multiprocessor to itself.
    pub(super) blocks: usize,
    /// The most shared memory of a block, in bytes.
    pub(super) shared: usize,
    /// Whether blocks may wait for each other.
    pub(super) cooperates: bool,
    pool: Mutex<Pool>,
    staging: Mutex<Staging>,
}

/// Memory of this machine that the device copies from while the program goes on.
#[derive(Debug, Default)]
struct Staging {
    free: Pool,
    /// Sizes and addresses that the device may still read.
    busy: Vec<(usize, u64)>,
    busy_bytes: usize,
}

// SAFETY: the driver and cuBLAS may be called from any thread whose context is set, which every function
// does first. The handle of cuBLAS may be one thread's at a time, so `product` holds a lock.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// What the driver says of an error.
fn failed(what: &str, error: DriverError) -> EngineError {
    let words = error.error_string().ok().and_then(|text| text.to_str().ok());
    EngineError::new(format!("CUDA cannot {what}: {} ({:?})", words.unwrap_or("unknown"), error.0))
}

fn blas_failed(what: &str, error: blas::CublasError) -> EngineError {
    EngineError::new(format!("cuBLAS cannot {what}: {:?}", error.0))
}

impl Device {
    /// How many devices there are.
    pub(super) fn count() -> Result<usize, EngineError> {
        // SAFETY: only looks whether the library is there.
        if !unsafe { sys::is_culib_present() } {
            return Err(EngineError::new(
                "there is no CUDA here: the driver's library (libcuda.so.1) is not found",
            ));
        }
        result::init().map_err(|error| failed("begin", error))?;
        let count = result::device::get_count().map_err(|error| failed("count devices", error))?;
        Ok(count.max(0) as usize)
    }

    /// The device of this number, as the driver counts.
    pub(super) fn new(ordinal: usize) -> Result<Self, EngineError> {
        let count = Self::count()?;
        // SAFETY: only looks whether the library is there.
        let blas_there = unsafe { blas_sys::is_culib_present() };
        if ordinal >= count {
            return Err(EngineError::new(format!(
                "there is no CUDA device {ordinal}: the driver sees {count}, counted from 0"
            )));
        }
        if !blas_there {
            return Err(EngineError::new(
                "there is no cuBLAS here: put the folder of libcublas.so.13 (or .12) into \
                 LD_LIBRARY_PATH",
            ));
        }
        let device = result::device::get((ordinal as u32).cast_signed())
            .map_err(|error| failed("find the device", error))?;
        Self::open(device)
    }

    fn open(device: sys::CUdevice) -> Result<Self, EngineError> {
        let name =
            result::device::get_name(device).map_err(|error| failed("name the device", error))?;
        // SAFETY: the device was found.
        let attribute =
            |which| unsafe { result::device::get_attribute(device, which) }.unwrap_or(0);
        let blocks = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).max(0) as usize;
        let shared = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
            .max(0) as usize;
        let cooperates = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) > 0;
        // SAFETY: the device was found; released when this is dropped.
        let context = unsafe { result::primary_ctx::retain(device) }
            .map_err(|error| failed("open the device", error))?;
        let mut this = Self {
            name,
            number: device,
            context,
            stream: std::ptr::null_mut(),
            module: std::ptr::null_mut(),
            functions: Vec::new(),
            blas: std::ptr::null_mut(),
            blocks,
            shared,
            cooperates,
            pool: Mutex::default(),
            staging: Mutex::default(),
        };
        this.enter()?;
        this.stream = result::stream::create(result::stream::StreamKind::NonBlocking)
            .map_err(|error| failed("make a queue", error))?;
        let ptx = CString::new(PTX).map_err(|error| EngineError::new(error.to_string()))?;
        // SAFETY: the text ends with a zero.
        this.module =
            unsafe { result::module::load_data(ptx.as_ptr().cast()) }.map_err(|error| {
                failed("compile the kernels: driver or device may be too old", error)
            })?;
        for name in NAMES {
            let text = CString::new(*name).map_err(|error| EngineError::new(error.to_string()))?;
            // SAFETY: the module is loaded, and stays so as long as this lives.
            let function = unsafe { result::module::get_function(this.module, text) }
                .map_err(|error| failed(&format!("find the kernel {name}"), error))?;
            this.functions.push(function);
        }
        this.blas = blas::create_handle().map_err(|error| blas_failed("begin", error))?;
        // SAFETY: the handle and the stream were just made. The two types are names for one.
        unsafe { blas::set_stream(this.blas, this.stream.cast()) }
            .map_err(|error| blas_failed("use the queue", error))?;
        this.raise_limits()?;
        Ok(this)
    }

    /// Lets the kernels that need it have all shared memory.
    fn raise_limits(&self) -> Result<(), EngineError> {
        for kernel in kernels::all().filter(|&kernel| kernel.waits() || kernel == Kernel::CtcPaths)
        {
            // SAFETY: the function is of the loaded module.
            unsafe {
                result::function::set_function_attribute(
                    self.functions[kernel as usize],
                    Limit::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    (self.shared as u32).cast_signed(),
                )
            }
            .map_err(|error| failed("use its shared memory", error))?;
        }
        Ok(())
    }

    /// What the device is called.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Makes this thread use the device.
    fn enter(&self) -> Result<(), EngineError> {
        // SAFETY: the context lives as long as this.
        unsafe { result::ctx::set_current(self.context) }
            .map_err(|error| failed("be used from this thread", error))
    }

    pub(super) fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes so many bytes, from what is free or from the device.
    pub(super) fn take(&self, bytes: usize) -> Result<u64, EngineError> {
        let class = size_class(bytes);
        let mut pool = self.pool();
        let address = match pool.take(class) {
            Some(address) => address,
            None => self.take_more(&mut pool, bytes, class)?,
        };
        pool.count(bytes);
        Ok(address)
    }

    fn take_more(&self, pool: &mut Pool, bytes: usize, class: usize) -> Result<u64, EngineError> {
        self.enter()?;
        // SAFETY: the address is freed once, below or when this is dropped.
        let take = || unsafe { result::malloc_sync(class) };
        take()
            .or_else(|_| {
                // What is free may be of the wrong sizes. Freeing waits for all work.
                for address in pool.drain() {
                    // SAFETY: it was taken, and nothing holds it.
                    unsafe { result::free_sync(address) }?;
                }
                take()
            })
            .map_err(|error| {
                let live = pool.live();
                failed(&format!("give {bytes} bytes of memory, with {live} in use"), error)
            })
    }

    /// Takes back memory of so many bytes.
    pub(super) fn give_back(&self, address: u64, bytes: usize) {
        let mut pool = self.pool();
        pool.put(size_class(bytes), address);
        pool.discount(bytes);
    }

    /// Brings values to the device, without waiting.
    ///
    /// # Panics
    ///
    /// When there is less memory than that.
    pub(super) fn write<T: Plain>(&self, to: Span<'_>, values: &[T]) -> Result<(), EngineError> {
        let bytes = size_of_val(values);
        assert!(bytes <= 4 * to.count(), "more than there is memory for");
        if bytes == 0 {
            return Ok(());
        }
        self.enter()?;
        let class = size_class(bytes);
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        if staging.busy_bytes + class > UNDERWAY {
            self.wait_for(&mut staging)?;
        }
        let address = match staging.free.take(class) {
            Some(address) => address,
            // SAFETY: freed when this is dropped.
            None => unsafe { result::malloc_host(class, 0) }
                .map_err(|error| failed(&format!("pin {class} bytes of memory"), error))?
                as u64,
        };
        staging.busy.push((class, address));
        staging.busy_bytes += class;
        let pinned = address as *mut u8;
        // SAFETY: all three are at least as long as `bytes`, and nothing else uses the pinned memory. The device reads
        // it later; it is not used again before the device has been waited for.
        unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), pinned, bytes);
            sys::cuMemcpyHtoDAsync_v2(to.address(), pinned.cast(), bytes, self.stream).result()
        }
        .map_err(|error| failed("copy to the device", error))
    }

    /// Waits for all that was asked of the device.
    pub(super) fn wait(&self) -> Result<(), EngineError> {
        self.enter()?;
        self.wait_for(&mut self.staging.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn wait_for(&self, staging: &mut Staging) -> Result<(), EngineError> {
        // SAFETY: the stream lives as long as this.
        unsafe { result::stream::synchronize(self.stream) }
            .map_err(|error| failed("finish its work", error))?;
        for (class, address) in std::mem::take(&mut staging.busy) {
            staging.free.put(class, address);
        }
        staging.busy_bytes = 0;
        Ok(())
    }

    /// The first so many values of a piece of memory, once all before is done.
    ///
    /// # Panics
    ///
    /// When there are fewer.
    pub(super) fn read<T: Plain>(
        &self,
        from: Span<'_>,
        count: usize,
    ) -> Result<Vec<T>, EngineError> {
        let mut values = vec![T::default(); count];
        let bytes = size_of_val(&values[..]);
        assert!(bytes <= 4 * from.count(), "more than there is");
        self.enter()?;
        if bytes > 0 {
            // SAFETY: both are at least so long, and `values` lives until the device is done.
            unsafe {
                sys::cuMemcpyDtoHAsync_v2(
                    values.as_mut_ptr().cast(),
                    from.address(),
                    bytes,
                    self.stream,
                )
                .result()
            }
            .map_err(|error| failed("copy from the device", error))?;
        }
        self.wait()?;
        Ok(values)
    }

    /// Sets all bytes.
    pub(super) fn fill(&self, at: Span<'_>, byte: u8) -> Result<(), EngineError> {
        if at.count() == 0 {
            return Ok(());
        }
        self.enter()?;
        // SAFETY: the span has so many bytes.
        unsafe { result::memset_d8_async(at.address(), byte, 4 * at.count(), self.stream) }
            .map_err(|error| failed("set memory", error))
    }

    /// Copies all numbers.
    ///
    /// # Panics
    ///
    /// When the counts differ.
    pub(super) fn copy(&self, to: Span<'_>, from: Span<'_>) -> Result<(), EngineError> {
        assert_eq!(to.count(), from.count(), "a copy of another size");
        if to.count() == 0 {
            return Ok(());
        }
        self.enter()?;
        let bytes = 4 * to.count();
        // SAFETY: both spans have so many bytes.
        unsafe { result::memcpy_dtod_async(to.address(), from.address(), bytes, self.stream) }
            .map_err(|error| failed("copy memory", error))
    }

    /// Copies `rows` rows of `width` numbers; rows are so many numbers apart.
    ///
    /// # Panics
    ///
    /// When there are not so many rows.
    pub(super) fn copy_rows(
        &self,
        (to, to_apart): (Span<'_>, usize),
        (from, from_apart): (Span<'_>, usize),
        rows: usize,
        width: usize,
    ) -> Result<(), EngineError> {
        assert!(to.holds_rows(rows, width, to_apart), "rows beyond the end");
        assert!(from.holds_rows(rows, width, from_apart), "rows beyond the end");
        if rows * width == 0 {
            return Ok(());
        }
        self.enter()?;
        let device = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE;
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: device,
            srcHost: std::ptr::null(),
            srcDevice: from.address(),
            srcArray: std::ptr::null_mut(),
            srcPitch: 4 * from_apart,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: device,
            dstHost: std::ptr::null_mut(),
            dstDevice: to.address(),
            dstArray: std::ptr::null_mut(),
            dstPitch: 4 * to_apart,
            WidthInBytes: 4 * width,
            Height: rows,
        };
        // SAFETY: both spans hold these rows.
        unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, self.stream).result() }
            .map_err(|error| failed("copy rows", error))
    }

    /// Runs a kernel on a grid of blocks, with so many bytes of shared memory each.
    ///
    /// # Safety
    ///
    /// The arguments must be those that the kernel takes, in order, and the memory that they name must have the
    /// sizes that the kernel reads and writes for this grid and these arguments.
    pub(super) unsafe fn launch(
        &self,
        kernel: Kernel,
        grid: [usize; 3],
        block: [usize; 2],
        shared: usize,
        arguments: &[Argument],
    ) -> Result<(), EngineError> {
        self.enter()?;
        let mut pointers: Vec<*mut c_void> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Word(word) => std::ptr::from_ref(word).cast_mut().cast(),
                Argument::Layer(words) => words.as_ptr().cast_mut().cast(),
            })
            .collect();
        let grid = (grid[0] as u32, grid[1] as u32, grid[2] as u32);
        let block = (block[0] as u32, block[1] as u32, 1);
        let function = self.functions[kernel as usize];
        // SAFETY: the caller gives what the kernel takes. The driver copies the arguments before it returns.
        unsafe {
            let launch = if kernel.waits() {
                result::launch_cooperative_kernel
            } else {
                result::launch_kernel
            };
            launch(function, grid, block, shared as u32, self.stream, &mut pointers)
        }
        .map_err(|error| failed(&format!("run the kernel {}", NAMES[kernel as usize]), error))
    }

    /// Runs a kernel with a thread for each of so many.
    ///
    /// # Safety
    ///
    /// As for [`launch`](Self::launch).
    pub(super) unsafe fn each(
        &self,
        kernel: Kernel,
        count: usize,
        arguments: &[Argument],
    ) -> Result<(), EngineError> {
        if count == 0 {
            return Ok(());
        }
        // SAFETY: as the caller says.
        unsafe { self.launch(kernel, [count.div_ceil(256), 1, 1], [256, 1], 0, arguments) }
    }

    /// `out = keep · out + a · b` for so many matrices, where the sizes are rows, inner size and
    /// columns.
    ///
    /// # Panics
    ///
    /// When a matrix is smaller.
    pub(super) fn product(
        &self,
        (m, k, n): (usize, usize, usize),
        a: Matrix<'_>,
        b: Matrix<'_>,
        out: Matrix<'_>,
        keep: f32,
        count: usize,
    ) -> Result<(), EngineError> {
        if m * n * k * count == 0 {
            return Ok(());
        }
        let held = a.holds(m, k, count) && b.holds(k, n, count) && out.holds(m, n, count);
        assert!(held && !out.transposed, "a matrix beyond the end");
        self.enter()?;
        let size = |value: usize| {
            i32::try_from(value).map_err(|_| {
                EngineError::new(format!(
                    "a matrix product of size {value} is too large for cuBLAS"
                ))
            })
        };
        let operation = |matrix: &Matrix<'_>| {
            if matrix.transposed { Operation::CUBLAS_OP_T } else { Operation::CUBLAS_OP_N }
        };
        let stride = |matrix: &Matrix<'_>| matrix.stride.cast_signed() as i64;
        let one = 1.0_f32;
        // The handle is one thread's at a time.
        let _held = self.pool();
        // SAFETY: the matrices have these sizes. cuBLAS goes by columns, so that it makes the
        // transpose of the product from the transposes of its factors.
        unsafe {
            blas::sgemm_strided_batched(
                self.blas,
                operation(&b),
                operation(&a),
                size(n)?,
                size(m)?,
                size(k)?,
                &raw const one,
                b.at.address() as *const f32,
                size(b.apart)?,
                stride(&b),
                a.at.address() as *const f32,
                size(a.apart)?,
                stride(&a),
                &raw const keep,
                out.at.address() as *mut f32,
                size(out.apart)?,
                stride(&out),
                size(count)?,
            )
        }
        .map_err(|error| blas_failed("multiply", error))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if self.enter().is_err() {
            return;
        }
        let pool = self.pool.get_mut().unwrap_or_else(PoisonError::into_inner).drain();
        let staging = self.staging.get_mut().unwrap_or_else(PoisonError::into_inner);
        let busy = std::mem::take(&mut staging.busy).into_iter().map(|(_, address)| address);
        let pinned: Vec<u64> = staging.free.drain().into_iter().chain(busy).collect();
        // Nothing can be done about what fails here.
        // SAFETY: all of it was taken or made by this, is given back once, and no memory is left, as
        // each piece keeps this alive.
        unsafe {
            if !self.stream.is_null() {
                let _ = result::stream::synchronize(self.stream);
            }
            if !self.blas.is_null() {
                let _ = blas::destroy_handle(self.blas);
            }
            for address in pool {
                let _ = result::free_sync(address);
            }
            for address in pinned {
                let _ = result::free_host(address as *mut c_void);
            }
            if !self.module.is_null() {
                let _ = result::module::unload(self.module);
            }
            if !self.stream.is_null() {
                let _ = result::stream::destroy(self.stream);
            }
            let _ = result::primary_ctx::release(self.number);
        }
    }
}
