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
