// Sums over rows, and what is done to every number.

extern "C" __global__ void add(ulong count, float* sum, const float* values) {
    ulong at = (ulong)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) sum[at] += values[at];
}

extern "C" __global__ void scale(ulong count, float* values, float by) {
    ulong at = (ulong)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) values[at] *= by;
}

extern "C" __global__ void add_to_rows(ulong count, uint width, float* out, const float* vector) {
    ulong at = (ulong)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) out[at] += vector[at % width];
}

// Sums the columns of a share of the rows: `parts[share][column]`. Blocks of 32 by 8 threads; several
// matrices, one after another.
extern "C" __global__ void sum_rows(ulong rows, uint width, ulong share, const float* values,
                                    float* parts) {
    __shared__ float sums[8][33];
    uint column = blockIdx.x * 32 + threadIdx.x;
    values += blockIdx.z * rows * width;
    ulong first = blockIdx.y * share, last = min(first + share, rows);
    float sum = 0.0f;
    if (column < width)
        for (ulong row = first + threadIdx.y; row < last; row += 8) sum += values[row * width + column];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || column >= width) return;
    for (int i = 1; i < 8; i++) sum += sums[i][threadIdx.x];
    parts[((ulong)blockIdx.z * gridDim.y + blockIdx.y) * width + column] = sum;
}

// Adds the sums of all shares to a vector; `apart` numbers are between the vectors of two matrices.
extern "C" __global__ void add_parts(uint count, uint width, const float* parts, float* out,
                                     ulong apart) {
    uint column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= width) return;
    parts += (ulong)blockIdx.z * count * width + column;
    float sum = 0.0f;
    for (uint part = 0; part < count; part++) sum += parts[(ulong)part * width];
    out[blockIdx.z * apart + column] += sum;
}

// Where a place that is not padding is among all such places, which are in the order of time, and at
// each step in that of `ranks`.
static __device__ __forceinline__ ulong packed_place(ulong place, uint rows, const uint* ranks,
                                                     const uint* begins) {
    return (ulong)begins[place / rows] + ranks[place % rows];
}

// The numbers of all places that are not padding, one place after another. A warp for every place, as in
// the three after it.
extern "C" __global__ void pack(ulong places, uint rows, uint width, const uint* lengths,
                                const uint* ranks, const uint* begins, const float* values,
                                float* packed) {
    ulong place = (ulong)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (place >= places || !fills(place, rows, lengths)) return;
    values += place * width;
    packed += packed_place(place, rows, ranks, begins) * width;
    for (uint at = threadIdx.x % 32; at < width; at += 32) packed[at] = values[at];
}

// The other way; zero where there is padding.
extern "C" __global__ void spread(ulong places, uint rows, uint width, const uint* lengths,
                                  const uint* ranks, const uint* begins, const float* packed,
                                  float* values) {
    ulong place = (ulong)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (place >= places) return;
    bool real = fills(place, rows, lengths);
    values += place * width;
    if (real) packed += packed_place(place, rows, ranks, begins) * width;
    for (uint at = threadIdx.x % 32; at < width; at += 32) values[at] = real ? packed[at] : 0.0f;
}

// Packs the outputs of the step before each place, which is the step after it for the backward direction;
// zero before the first. One direction after the other.
extern "C" __global__ void pack_previous(ulong places, uint rows, uint units, uint directions,
                                         ulong count, const uint* lengths, const uint* ranks,
                                         const uint* begins, const float* outputs,
                                         float* packed) {
    ulong place = (ulong)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (place >= places || !fills(place, rows, lengths)) return;
    uint wide = directions * units;
    bool first = place < rows, last = !fills(place + rows, rows, lengths);
    packed += packed_place(place, rows, ranks, begins) * units;
    for (uint at = threadIdx.x % 32; at < wide; at += 32) {
        uint direction = at / units;
        ulong before = direction ? place + rows : place - rows;
        bool begins_here = direction ? last : first;
        packed[direction * count * units + at % units] =
            begins_here ? 0.0f : outputs[before * wide + at];
    }
}

// Sets all bits of the numbers that are not padding, and none where there is padding.
extern "C" __global__ void unset_places(ulong places, uint rows, uint width, const uint* lengths,
                                        uint* values) {
    ulong place = (ulong)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (place >= places) return;
    uint value = fills(place, rows, lengths) ? ~0u : 0u;
    values += place * width;
    for (uint at = threadIdx.x % 32; at < width; at += 32) values[at] = value;
}

extern "C" __global__ void mean(uint steps, uint rows, uint width, const float* x,
                                const uint* lengths, float* out) {
    uint column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= width) return;
    uint length = lengths[row];
    float sum = 0.0f;
#pragma unroll 8
    for (uint step = 0; step < length; step++) sum += x[((ulong)step * rows + row) * width + column];
    out[row * width + column] = sum * (1.0f / max(length, 1));
}

extern "C" __global__ void mean_backward(ulong count, uint rows, uint width, const float* dy,
                                         const uint* lengths, float* dx) {
    ulong at = (ulong)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    ulong place = at / width;
    uint row = place % rows;
    float share = 1.0f / lengths[row];
    dx[at] = fills(place, rows, lengths) ? dy[row * width + at % width] * share : 0.0f;
}

extern "C" __global__ void embed(ulong count, uint rows, uint width, const float* table,
                                 const uint* symbols, const uint* lengths, float* out) {
    ulong at = (ulong)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    ulong place = at / width;
    bool real = fills(place, rows, lengths);
    out[at] = real ? table[(ulong)symbols[place] * width + at % width] : 0.0f;
}

// For every symbol that occurs: its number, where its places begin in `places`, and where they end.
extern "C" __global__ void embed_backward(uint width, const uint* symbols, const uint* begins,
                                          const uint* places, const float* dy, float* gradient) {
    uint column = blockIdx.y * blockDim.x + threadIdx.x;
    if (column >= width) return;
    uint end = begins[blockIdx.x + 1];
    float sum = 0.0f;
#pragma unroll 8
    for (uint at = begins[blockIdx.x]; at < end; at++) sum += dy[(ulong)places[at] * width + column];
    gradient[(ulong)symbols[blockIdx.x] * width + column] += sum;
}

// The softmax of scores times a scale, a warp for every query: `weights[row][step][key]`, zero beyond
// the lengths.
extern "C" __global__ void attend(uint rows, uint asks, uint answers, const uint* asking,
                                  const uint* asked, float by, float* weights) {
    ulong query = (ulong)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (query >= (ulong)rows * asks) return;
    uint row = query / asks, step = query % asks, lane = threadIdx.x % 32;
    uint real = step < asking[row] ? asked[row] : 0;
    weights += query * answers;
    float highest = -INFINITY, sum = 0.0f;
    for (uint key = lane; key < real; key += 32) highest = fmaxf(highest, weights[key]);
    highest = warp_most(highest);
    for (uint key = lane; key < real; key += 32) {
        float weight = expf((weights[key] - highest) * by);
        weights[key] = weight;
        sum += weight;
    }
    sum = warp_sum(sum);
    for (uint key = lane; key < answers; key += 32)
        weights[key] = key < real ? weights[key] / sum : 0.0f;
}

// From the gradient of the weights to that of the scores, in place.
extern "C" __global__ void attend_backward(ulong queries, uint answers, const float* weights, float by,
                                           float* scores) {
    ulong query = (ulong)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (query >= queries) return;
    uint lane = threadIdx.x % 32;
    weights += query * answers;
    scores += query * answers;
    float mean = 0.0f;
    for (uint key = lane; key < answers; key += 32) mean += scores[key] * weights[key];
    mean = warp_sum(mean);
    for (uint key = lane; key < answers; key += 32)
        scores[key] = by * weights[key] * (scores[key] - mean);
}

extern "C" __global__ void adam(ulong count, float rate, float scale, float one, float two,
                                float epsilon, float* parameters, const float* gradient,
                                float* means, float* squares) {
    ulong at = (ulong)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    float g = gradient[at], mean = means[at];
    mean += (1.0f - one) * (g - mean);
    float square = two * squares[at] + (1.0f - two) * g * g;
    means[at] = mean, squares[at] = square;
    parameters[at] -= rate * mean / (sqrtf(square) / scale + epsilon);
}

extern "C" __global__ void adadelta(ulong count, float rate, float decay, float epsilon,
                                    float* parameters, const float* gradient, float* squares,
                                    float* updates) {
    ulong at = (ulong)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    float g = gradient[at], before = updates[at];
    float square = decay * squares[at] + (1.0f - decay) * g * g;
    float update = sqrtf((before + epsilon) / (square + epsilon)) * g;
    squares[at] = square;
    updates[at] = decay * before + (1.0f - decay) * update * update;
    parameters[at] -= rate * update;
}
