// What the kernels share. Batches are in the order of time: place = step * rows + row. All sums are
// taken in a fixed order, so that results are the same in every run.

typedef unsigned int uint;
typedef unsigned long long ulong;

#define INFINITY __int_as_float(0x7f800000)

static __device__ __forceinline__ bool fills(ulong place, uint rows, const uint* lengths) {
    return place / rows < lengths[place % rows];
}

static __device__ __forceinline__ float logistic(float x) {
    return __fdividef(1.0f, 1.0f + __expf(-x));
}

static __device__ __forceinline__ float hyperbolic(float x) {
    return __fdividef(2.0f, 1.0f + __expf(-2.0f * x)) - 1.0f;
}

static __device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int far = 16; far > 0; far /= 2) value += __shfl_xor_sync(~0u, value, far);
    return value;
}

static __device__ __forceinline__ double warp_sum(double value) {
#pragma unroll
    for (int far = 16; far > 0; far /= 2) value += __shfl_xor_sync(~0u, value, far);
    return value;
}

static __device__ __forceinline__ float warp_most(float value) {
#pragma unroll
    for (int far = 16; far > 0; far /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, far));
    return value;
}

// The sum over the threads of a block of 256; the first thread has it.
static __device__ double block_sum(double value) {
    __shared__ double parts[8];
    value = warp_sum(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    double sum = 0.0;
    for (int part = 0; part < 8; part++) sum += parts[part];
    return sum;
}
