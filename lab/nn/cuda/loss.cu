// Losses of padded batches, and their gradients. Blocks have 256 threads, and each block leaves its
// sums in `totals` and `counts`; `finish` makes them one.

extern "C" __global__ void finish(uint count, const double* totals, const uint* counts,
                                  double* result) {
    double total = 0.0, number = 0.0;
    for (uint at = threadIdx.x; at < count; at += 256) total += totals[at], number += counts[at];
    total = block_sum(total);
    number = block_sum(number);
    if (threadIdx.x == 0) result[0] = total, result[1] = number;
}

extern "C" __global__ void squares(ulong count, const float* values, double* totals, uint* counts) {
    double sum = 0.0;
    for (ulong at = (ulong)blockIdx.x * 256 + threadIdx.x; at < count; at += (ulong)gridDim.x * 256)
        sum += (double)values[at] * values[at];
    sum = block_sum(sum);
    if (threadIdx.x == 0) totals[blockIdx.x] = sum, counts[blockIdx.x] = 0;
}

// A warp for every place.
extern "C" __global__ void cross_entropy(ulong places, uint rows, uint classes, float share,
                                         const float* scores, const uint* labels,
                                         const uint* lengths, float* gradient, double* totals,
                                         uint* counts) {
    uint lane = threadIdx.x % 32;
    double total = 0.0, correct = 0.0;
    for (ulong place = (ulong)blockIdx.x * 8 + threadIdx.x / 32; place < places;
         place += (ulong)gridDim.x * 8) {
        const float* from = scores + place * classes;
        float* to = gradient + place * classes;
        if (!fills(place, rows, lengths)) {
            for (uint at = lane; at < classes; at += 32) to[at] = 0.0f;
            continue;
        }
        float highest = -INFINITY, sum = 0.0f;
        for (uint at = lane; at < classes; at += 32) highest = fmaxf(highest, from[at]);
        highest = warp_most(highest);
        for (uint at = lane; at < classes; at += 32) {
            float e = expf(from[at] - highest);
            to[at] = e;
            sum += e;
        }
        sum = warp_sum(sum);
        uint label = labels[place];
        for (uint at = lane; at < classes; at += 32)
            to[at] = to[at] * (share / sum) - (at == label ? share : 0.0f);
        if (lane == 0) {
            total += logf(sum) + highest - from[label];
            correct += from[label] >= highest ? 1.0 : 0.0;
        }
    }
    total = block_sum(total);
    correct = block_sum(correct);
    if (threadIdx.x == 0) totals[blockIdx.x] = total, counts[blockIdx.x] = (uint)correct;
}

extern "C" __global__ void squared_error(ulong count, uint rows, uint width, float share,
                                         const float* values, const float* targets,
                                         const uint* lengths, float* gradient, double* totals,
                                         uint* counts) {
    double total = 0.0;
    for (ulong at = (ulong)blockIdx.x * 256 + threadIdx.x; at < count; at += (ulong)gridDim.x * 256) {
        float error = 0.0f;
        if (fills(at / width, rows, lengths)) error = values[at] - targets[at];
        total += error * error;
        gradient[at] = 2.0f * error * share;
    }
    total = block_sum(total);
    if (threadIdx.x == 0) totals[blockIdx.x] = total, counts[blockIdx.x] = 0;
}

// Logarithms of the softmax of every place; a warp each.
extern "C" __global__ void log_softmax(ulong places, uint rows, uint classes, const float* scores,
                                       const uint* lengths, float* chances) {
    ulong place = (ulong)blockIdx.x * 8 + threadIdx.x / 32;
    uint lane = threadIdx.x % 32;
    if (place >= places || !fills(place, rows, lengths)) return;
    scores += place * classes;
    chances += place * classes;
    float highest = -INFINITY, sum = 0.0f;
    for (uint at = lane; at < classes; at += 32) highest = fmaxf(highest, scores[at]);
    highest = warp_most(highest);
    for (uint at = lane; at < classes; at += 32) sum += expf(scores[at] - highest);
    sum = logf(warp_sum(sum));
    for (uint at = lane; at < classes; at += 32) chances[at] = scores[at] - highest - sum;
}

static __device__ __forceinline__ double log_sum(double a, double b) {
    double high = a > b ? a : b, low = a > b ? b : a;
    return low == -INFINITY ? high : high + log1p(exp(low - high));
}

// The place before this one on the path of row's labels that a path may come from directly: two before
// a label that is not the same.
static __device__ __forceinline__ bool jumps(const uint* labels, uint place) {
    return place >= 2 && place % 2 == 1 && labels[place / 2] != labels[place / 2 - 1];
}

// How likely the beginning is, up to each step and place of the path (blank, label, blank, …), and how
// likely the rest, after each; logarithms. Two blocks for every row: one for each. `begins` says where
// the labels of a row are. `before` and `after` hold `widest` places for every step.
extern "C" __global__ void ctc_paths(uint steps, uint rows, uint classes, uint widest,
                                     const float* chances, const uint* lengths, const uint* begins,
                                     const uint* labels, double* before, double* after,
                                     double* all) {
    extern __shared__ double line[];
    uint row = blockIdx.x, length = lengths[row];
    labels += begins[row];
    uint width = 2 * (begins[row + 1] - begins[row]) + 1;
    bool back = blockIdx.y == 1;
    double* now = line;
    double* next = line + widest;
    double* out = (back ? after : before) + (ulong)row * steps * widest;
    for (uint place = threadIdx.x; place < width; place += blockDim.x) {
        uint label = place % 2 ? labels[place / 2] : 0;
        double first = -INFINITY;
        if (back && place + 2 >= width) first = 0.0;
        if (!back && place < 2) first = chances[(ulong)row * classes + label];
        now[place] = first;
        out[(ulong)(back ? length - 1 : 0) * widest + place] = first;
    }
    __syncthreads();
    for (uint n = 1; n < length; n++) {
        // Forward, to this step; back, from the step after it.
        uint step = back ? length - 1 - n : n, of = back ? step + 1 : step;
        const float* chance = chances + ((ulong)of * rows + row) * classes;
        if (back) {
            for (uint place = threadIdx.x; place < width; place += blockDim.x)
                now[place] += chance[place % 2 ? labels[place / 2] : 0];
            __syncthreads();
        }
        for (uint place = threadIdx.x; place < width; place += blockDim.x) {
            double sum = now[place];
            if (back) {
                if (place + 1 < width) sum = log_sum(sum, now[place + 1]);
                if (place + 2 < width && jumps(labels, place + 2)) sum = log_sum(sum, now[place + 2]);
            } else {
                if (place >= 1) sum = log_sum(sum, now[place - 1]);
                if (jumps(labels, place)) sum = log_sum(sum, now[place - 2]);
                sum += chance[place % 2 ? labels[place / 2] : 0];
            }
            next[place] = sum;
            out[(ulong)step * widest + place] = sum;
        }
        __syncthreads();
        double* other = now;
        now = next;
        next = other;
    }
    if (!back && threadIdx.x == 0)
        all[row] = width > 1 ? log_sum(now[width - 2], now[width - 1]) : now[0];
}

// A warp for every place of the batch. `next` says, for every label of a row, which one after it is
// the same (its number in the row, or none), and `first` whether none before it is.
extern "C" __global__ void ctc_gradient(uint steps, uint rows, uint classes, uint widest, float share,
                                        const float* chances, const uint* lengths,
                                        const uint* begins, const uint* labels, const uint* next,
                                        const uint* first, const double* before,
                                        const double* after, const double* all, float* gradient) {
    ulong place = (ulong)blockIdx.x * 8 + threadIdx.x / 32;
    uint lane = threadIdx.x % 32;
    if (place >= (ulong)steps * rows) return;
    uint row = place % rows, step = place / rows;
    gradient += place * classes;
    if (step >= lengths[row]) {
        for (uint at = lane; at < classes; at += 32) gradient[at] = 0.0f;
        return;
    }
    chances += place * classes;
    before += ((ulong)row * steps + step) * widest;
    after += ((ulong)row * steps + step) * widest;
    uint begin = begins[row], count = begins[row + 1] - begin;
    labels += begin, next += begin, first += begin;
    double whole = all[row];
    // The blank is at every other place of the path.
    double blank = 0.0;
    for (uint at = lane; at <= count; at += 32) blank += exp(before[2 * at] + after[2 * at] - whole);
    blank = warp_sum(blank);
    for (uint at = lane; at < classes; at += 32)
        gradient[at] = share * (expf(chances[at]) - (at == 0 ? (float)blank : 0.0f));
    __syncwarp();
    for (uint at = lane; at < count; at += 32) {
        if (!first[at]) continue;
        double sum = 0.0;
        for (uint same = at; same < count; same = next[same])
            sum += exp(before[2 * same + 1] + after[2 * same + 1] - whole);
        gradient[labels[at]] = share * (expf(chances[labels[at]]) - (float)sum);
    }
}
