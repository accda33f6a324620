// The whole sequence of an LSTM layer in one launch.
//
// The units of a direction are split over blocks that run at the same time, and the rows over groups of
// such blocks. A thread keeps its share of the recurrent weights in registers: 16 deep, four columns
// wide. After each step, blocks tell each other their results through memory whose bits were all set
// before: whoever needs a number waits until it is no longer unset. A block goes over its rows in
// chunks, so that one chunk's results travel while the next is computed.
//
// Rows are taken in an order in which the longest come first, four at a time by turns for each group: at
// every step the rows of a group that are still running are its first, and about as many in all groups.
// The others take no time. Gates and cells are those of running rows alone, step by step.

#define DEPTH 16
#define UNSET 0xffffffffu
#define NONE 0xffffffffu

extern __shared__ float4 shared[];

static __device__ __forceinline__ float4 look(const float* from) {
    float4 v;
    asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}

static __device__ __forceinline__ float look_one(const float* from) {
    float v;
    asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(from) : "memory");
    return v;
}

static __device__ __forceinline__ bool unset(float v) {
    return __float_as_uint(v) == UNSET;
}

static __device__ __forceinline__ bool unset(float4 v) {
    return unset(v.x) || unset(v.y) || unset(v.z) || unset(v.w);
}

// Arithmetic gives no number whose bits are all set; a comparison makes sure.
static __device__ __forceinline__ void tell(float* to, float v) {
    if (unset(v)) v = __uint_as_float(0x7fffffffu);
    asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(to), "f"(v) : "memory");
}

// Begins to bring one number into shared memory, and waits for all that this thread has begun. Unlike
// what is read into registers, it holds up nothing.
static __device__ __forceinline__ void begin(float* to, const float* from) {
    uint place = (uint)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
}

static __device__ __forceinline__ void arrive() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// What a launch is about.
struct Layer {
    // The steps that are computed.
    uint steps, rows, units, directions;
    // The direction of the first block.
    uint direction;
    // How many parts of 16 a column of recurrent weights has.
    uint slices;
    // Blocks of a group, and the units of one, as a power of two.
    uint blocks, width_log;
    // Rows of a group, and those of a chunk over 4.
    uint group_rows, tiles;
    // The places of all steps that are computed, and whether padding is among them.
    uint places, whole;
};

// Where a row of a group is in the order of all rows.
static __device__ __forceinline__ uint rank_of(uint row, uint group, uint groups) {
    return 4 * group + (row & ~3u) * groups + (row & 3u);
}

// How many rows a group has.
static __device__ __forceinline__ uint rows_of(uint rows, uint group, uint groups) {
    uint tiles = (rows + 3) / 4, own = (tiles - group + groups - 1) / groups;
    return min(4 * own, rows - rank_of(4 * (own - 1), group, groups) + 4 * (own - 1));
}

// How many rows of a group are running at a step; `running` is that of the step before or after it.
static __device__ __forceinline__ uint running_at(const Layer& of, uint time, const uint* lengths,
                                                  uint rows, uint running) {
    if (of.whole) return rows;
    while (running < rows && lengths[running] > time) running++;
    while (running > 0 && lengths[running - 1] <= time) running--;
    return running;
}

// Which number of a told vector is in a slot of shared memory. Those read four at a time are a quarter
// of the slots apart, so that they are written without conflicts.
static __device__ __forceinline__ uint number_at(uint slot, uint depth, bool four) {
    uint quarter = depth / 4;
    return four ? slot % quarter * 4 + slot / quarter : slot;
}

// Brings the told vectors of a chunk into shared memory, rows side by side: `to[tile][slot]` has the
// four rows of a tile. `begin` gives where the vector of a row begins. `AHEAD` reads are under way at a
// time.
template <int AHEAD, typename Begin>
static __device__ __forceinline__ void gather4(float* to, const float* from, Begin begin, uint count,
                                               uint rows, uint depth) {
    uint row = threadIdx.x % 4, first = threadIdx.x / 4, step = blockDim.x / 4, quads = count / 4;
    uint turns = (quads + step - 1) / step, tile = 0, turn = 0;
    while (tile * 4 < rows) {
        float4 v[AHEAD];
        uint at[AHEAD], to_at[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            uint quad = first + turn * step, of = tile * 4 + row;
            at[a] = NONE, to_at[a] = (tile * depth + quad) * 4 + row;
            v[a] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (quad < quads && of < rows) {
                at[a] = begin(of) + quad * 4;
                v[a] = look(from + at[a]);
            }
            turn++;
            if (turn == turns) turn = 0, tile++;
        }
        bool missing = true;
        while (missing) {
            missing = false;
#pragma unroll
            for (int a = 0; a < AHEAD; a++)
                if (unset(v[a])) v[a] = look(from + at[a]), missing = true;
        }
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            if (at[a] != NONE) {
                float* place = to + to_at[a];
                place[0] = v[a].x;
                place[depth] = v[a].y;
                place[2 * depth] = v[a].z;
                place[3 * depth] = v[a].w;
            }
        }
    }
}

// The same, for vectors that do not begin at multiples of four.
template <typename Begin>
static __device__ __forceinline__ void gather1(float* to, const float* from, Begin begin, uint count,
                                               uint rows, uint depth) {
    for (uint row = threadIdx.x % 4; row < rows; row += 4) {
        uint first = begin(row);
        for (uint k = threadIdx.x / 4; k < count; k += blockDim.x / 4) {
            float v = look_one(from + (first + k));
            while (unset(v)) v = look_one(from + (first + k));
            to[(row / 4 * depth + k) * 4 + threadIdx.x % 4] = v;
        }
    }
}

// Sums 16 values over `LANES` neighbouring lanes; lane `q` ends with the values from `q * 16 / LANES`.
template <int LANES, int HALF = 8>
static __device__ __forceinline__ void share(float (&v)[16], uint lane) {
    if constexpr (LANES > 1) {
        bool high = lane & (LANES / 2);
#pragma unroll
        for (int i = 0; i < HALF; i++) {
            float give = high ? v[i] : v[i + HALF], keep = high ? v[i + HALF] : v[i];
            v[i] = keep + __shfl_xor_sync(~0u, give, LANES / 2);
        }
        share<LANES / 2, HALF / 2>(v, lane);
    }
}

// The product of a tile's four rows with a thread's weights.
static __device__ __forceinline__ void multiply(float (&sums)[16], const float4 (&weights)[DEPTH],
                                                const float4* states, uint apart) {
#pragma unroll
    for (int i = 0; i < 16; i++) sums[i] = 0.0f;
#pragma unroll
    for (int j = 0; j < DEPTH; j++) {
        float4 h = states[j * apart], w = weights[j];
        sums[0] += h.x * w.x, sums[1] += h.x * w.y, sums[2] += h.x * w.z, sums[3] += h.x * w.w;
        sums[4] += h.y * w.x, sums[5] += h.y * w.y, sums[6] += h.y * w.z, sums[7] += h.y * w.w;
        sums[8] += h.z * w.x, sums[9] += h.z * w.y, sums[10] += h.z * w.z, sums[11] += h.z * w.w;
        sums[12] += h.w * w.x, sums[13] += h.w * w.y, sums[14] += h.w * w.z, sums[15] += h.w * w.w;
    }
}

// `gates` come in as sums over the input and go out after their functions; `outputs` come in unset.
// `recurrent` and `bias` are those of the forward direction, `apart` the parameters of a direction.
// `order` has the rows, and `begins` where each step begins among the computed places.
static __device__ __forceinline__ void forward(const Layer& of, float* gates, float* cells,
                                               float* outputs, const float* recurrent,
                                               const float* bias, ulong apart, const uint* lengths,
                                               const uint* order, const uint* begins) {
    uint width = 1u << of.width_log, units = of.units, depth = of.slices * DEPTH;
    uint block = blockIdx.x % of.blocks, team = blockIdx.x / of.blocks;
    uint groups = (of.rows + of.group_rows - 1) / of.group_rows;
    uint direction = of.direction + team / groups, group = team % groups;
    uint first_unit = block * width, wide = of.directions * units;
    uint group_rows = rows_of(of.rows, group, groups);
    gates += (ulong)direction * of.places * 4 * units;
    cells += (ulong)direction * of.places * units;
    outputs += direction * units;
    recurrent += direction * apart;
    bias += direction * apart;

    uint chunk = 4 * of.tiles, parts = of.slices / 4;
    float4* states = shared;
    float4* sums = states + of.tiles * depth;
    float* brought = (float*)(sums + parts * chunk * width);
    float* carried = brought + 4 * blockDim.x;
    uint* row_lengths = (uint*)(carried + of.group_rows * width);
    uint* row_order = row_lengths + of.group_rows;
    for (uint at = threadIdx.x; at < of.tiles * depth; at += blockDim.x)
        states[at] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (uint at = threadIdx.x; at < of.group_rows * width; at += blockDim.x) carried[at] = 0.0f;
    for (uint at = threadIdx.x; at < group_rows; at += blockDim.x) {
        row_order[at] = order[rank_of(at, group, groups)];
        row_lengths[at] = lengths[row_order[at]];
    }

    uint lane = threadIdx.x % 32, warp = threadIdx.x / 32, lane_part = lane % 4;
    uint part = warp / (width / 8), own = warp % (width / 8) * 8 + lane / 4;
    uint slice = part * 4 + lane_part;
    bool four = units % 4 == 0;
    float4 weights[DEPTH];
#pragma unroll
    for (int j = 0; j < DEPTH; j++) {
        uint k = number_at(j * of.slices + slice, depth, four), unit = first_unit + own;
        weights[j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (k < units && unit < units) {
            const float* from = recurrent + (ulong)k * 4 * units + unit;
            weights[j] = make_float4(from[0], from[units], from[2 * units], from[3 * units]);
        }
    }
    // The unit and the first row of this thread once sums are made; always the same.
    uint own_unit = threadIdx.x & (width - 1), unit = first_unit + own_unit;
    uint own_row = threadIdx.x >> of.width_log;
    float biases[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (unit < units)
        for (int gate = 0; gate < 4; gate++) biases[gate] = bias[gate * units + unit];
    __syncthreads();

    uint running = 0;
    for (uint n = 0; n < of.steps; n++) {
        uint time = direction ? of.steps - 1 - n : n, before = direction ? time + 1 : time - 1;
        uint ran = running;
        running = running_at(of, time, row_lengths, group_rows, running);
        uint begins_here = begins[time];
        float* gate = gates + (ulong)begins_here * 4 * units + unit;
        for (uint start = 0; start < running; start += chunk) {
            // The rows of the chunk, and how many of them have an output of the step before.
            uint rows = min(chunk, running - start), going = ran > start ? min(rows, ran - start) : 0;
            if (going > 0) {
                const float* from = outputs + (ulong)before * of.rows * wide;
                auto place = [&](uint row) { return row_order[start + row] * wide; };
                if (four) gather4<4>((float*)states, from, place, units, going, depth);
                else gather1((float*)states, from, place, units, going, depth);
                __syncthreads();
            }
            // What comes from memory travels during the products.
            float* fetched = brought + threadIdx.x;
            bool mine = own_row < rows && unit < units;
            if (mine) {
                uint at = rank_of(start + own_row, group, groups) * 4 * units;
                for (int i = 0; i < 4; i++) begin(fetched + i * blockDim.x, gate + (at + i * units));
            }
            if (going > 0) {
                for (uint tile = 0; tile * 4 < going; tile++) {
                    float v[16];
                    multiply(v, weights, states + tile * depth + slice, of.slices);
                    share<4>(v, lane);
                    sums[(part * chunk + tile * 4 + lane_part) * width + own] =
                        make_float4(v[0], v[1], v[2], v[3]);
                }
                __syncthreads();
            }
            if (!mine) continue;
            arrive();
            for (uint row = own_row; row < rows; row += of.slices) {
                float x[4];
                for (int i = 0; i < 4; i++) x[i] = fetched[i * blockDim.x] + biases[i];
                if (row < going) {
                    const float4* sum = sums + row * width + own_unit;
                    for (uint from = 0; from < parts; from++, sum += chunk * width)
                        x[0] += sum->x, x[1] += sum->y, x[2] += sum->z, x[3] += sum->w;
                }
                float* carry = carried + (start + row) * width + own_unit;
                float i = logistic(x[0]), f = logistic(x[1]), g = hyperbolic(x[2]);
                float o = logistic(x[3]), c = f * *carry + i * g, h = o * hyperbolic(c);
                bool holds = time < row_lengths[start + row];
                c = holds ? c : 0.0f, h = holds ? h : 0.0f;
                tell(outputs + ((ulong)time * of.rows + row_order[start + row]) * wide + unit, h);
                *carry = c;
                uint rank = rank_of(start + row, group, groups);
                float* to = gate + rank * 4 * units;
                to[0] = i, to[units] = f, to[2 * units] = g, to[3 * units] = o;
                cells[((ulong)begins_here + rank) * units + unit] = c;
                if (row + of.slices < rows) {
                    const float* next = gate + rank_of(start + row + of.slices, group, groups) * 4 * units;
                    for (int i = 0; i < 4; i++) fetched[i * blockDim.x] = next[i * units];
                }
            }
        }
    }
}

// `gates` are those after their functions; `dgates` come in unset. `LANES` neighbouring lanes share
// four units.
template <int LANES>
static __device__ __forceinline__ void backward(const Layer& of, const float* gates,
                                                const float* cells, const float* dy, float* dgates,
                                                const float* recurrent, ulong apart,
                                                const uint* lengths, const uint* order,
                                                const uint* begins) {
    const uint QUADS = 32 / LANES;
    uint width = 1u << of.width_log, units = of.units, wide = of.directions * units;
    uint slices = 4 * of.slices, depth = slices * DEPTH;
    uint block = blockIdx.x % of.blocks, team = blockIdx.x / of.blocks;
    uint groups = (of.rows + of.group_rows - 1) / of.group_rows;
    uint direction = of.direction + team / groups, group = team % groups;
    uint first_unit = block * width, group_rows = rows_of(of.rows, group, groups);
    gates += (ulong)direction * of.places * 4 * units;
    dgates += (ulong)direction * of.places * 4 * units;
    cells += (ulong)direction * of.places * units;
    dy += direction * units;
    recurrent += direction * apart;

    uint chunk = 4 * of.tiles, parts = slices / LANES;
    float4* states = shared;
    float* sums = (float*)(states + of.tiles * depth);
    float* brought = sums + parts * chunk * width;
    float* carried = brought + 7 * blockDim.x;
    uint* row_lengths = (uint*)(carried + of.group_rows * width);
    uint* row_order = row_lengths + of.group_rows;
    for (uint at = threadIdx.x; at < of.tiles * depth; at += blockDim.x)
        states[at] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (uint at = threadIdx.x; at < of.group_rows * width; at += blockDim.x) carried[at] = 0.0f;
    for (uint at = threadIdx.x; at < group_rows; at += blockDim.x) {
        row_order[at] = order[rank_of(at, group, groups)];
        row_lengths[at] = lengths[row_order[at]];
    }

    uint lane = threadIdx.x % 32, warp = threadIdx.x / 32, lane_part = lane % LANES;
    uint teams = width / 4 / QUADS, part = warp / teams;
    uint own = (warp % teams * QUADS + lane / LANES) * 4, slice = part * LANES + lane_part;
    float4 weights[DEPTH];
#pragma unroll
    for (int j = 0; j < DEPTH; j++) {
        uint k = number_at(j * slices + slice, depth, true);
        float four[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint unit = first_unit + own + i;
            bool real = k < 4 * units && unit < units;
            four[i] = real ? recurrent[(ulong)unit * 4 * units + k] : 0.0f;
        }
        weights[j] = make_float4(four[0], four[1], four[2], four[3]);
    }
    uint own_unit = threadIdx.x & (width - 1), unit = first_unit + own_unit;
    uint own_row = threadIdx.x >> of.width_log;
    __syncthreads();

    uint first_time = direction ? 0 : of.steps - 1, running = 0;
    uint next_running = running_at(of, first_time, row_lengths, group_rows, 0);
    uint begins_here = 0, begins_next = begins[first_time];
    for (uint n = 0; n < of.steps; n++) {
        uint time = direction ? n : of.steps - 1 - n, before = direction ? time + 1 : time - 1;
        // What ran at the step after this one, which was the last, at this one, and at the step before.
        uint ran = running, begins_last = begins_here;
        running = next_running, begins_here = begins_next, next_running = 0;
        if (n + 1 < of.steps) {
            next_running = running_at(of, before, row_lengths, group_rows, running);
            begins_next = begins[before];
        }
        const float* gate = gates + (ulong)begins_here * 4 * units + unit;
        const float* cell = cells + (ulong)begins_here * units + unit;
        const float* last_cell = cells + (ulong)begins_next * units + unit;
        const float* d = dy + (ulong)time * of.rows * wide + unit;
        for (uint start = 0; start < running; start += chunk) {
            // The rows of the chunk, and how many of them have a gradient of the step after.
            uint rows = min(chunk, running - start), going = ran > start ? min(rows, ran - start) : 0;
            if (going > 0) {
                const float* from = dgates + (ulong)begins_last * 4 * units;
                auto place = [&](uint row) {
                    return rank_of(start + row, group, groups) * 4 * units;
                };
                gather4<4>((float*)states, from, place, 4 * units, going, depth);
                __syncthreads();
            }
            // What comes from memory travels during the products.
            float* fetched = brought + threadIdx.x;
            bool mine = own_row < rows && unit < units;
            if (mine) {
                uint at = rank_of(start + own_row, group, groups) * units;
                for (int i = 0; i < 4; i++)
                    begin(fetched + i * blockDim.x, gate + (4 * at + i * units));
                begin(fetched + 4 * blockDim.x, cell + at);
                begin(fetched + 5 * blockDim.x, d + row_order[start + own_row] * wide);
                if (start + own_row < next_running) begin(fetched + 6 * blockDim.x, last_cell + at);
            }
            if (going > 0) {
                for (uint tile = 0; tile * 4 < going; tile++) {
                    float v[16];
                    multiply(v, weights, states + tile * depth + slice, slices);
                    share<LANES>(v, lane);
#pragma unroll
                    for (int at = 0; at < 16 / LANES; at++) {
                        uint which = lane_part * (16 / LANES) + at;
                        sums[(part * chunk + tile * 4 + which / 4) * width + own + which % 4] = v[at];
                    }
                }
                __syncthreads();
            }
            if (!mine) continue;
            arrive();
            for (uint row = own_row; row < rows; row += of.slices) {
                float i = fetched[0], f = fetched[blockDim.x], g = fetched[2 * blockDim.x];
                float o = fetched[3 * blockDim.x], c = fetched[4 * blockDim.x];
                float dh = fetched[5 * blockDim.x];
                // The cells of the step before are zero before the first.
                float last = start + row < next_running ? fetched[6 * blockDim.x] : 0.0f;
                if (row < going) {
                    const float* sum = sums + row * width + own_unit;
                    for (uint from = 0; from < parts; from++, sum += chunk * width) dh += *sum;
                }
                float* carry = carried + (start + row) * width + own_unit;
                float t = hyperbolic(c), dc = dh * o * (1.0f - t * t) + *carry;
                bool holds = time < row_lengths[start + row];
                float di = dc * g * i * (1.0f - i), df = dc * last * f * (1.0f - f);
                float dg = dc * i * (1.0f - g * g), d_o = dh * t * o * (1.0f - o);
                uint rank = rank_of(start + row, group, groups);
                float* to = dgates + ((ulong)begins_here + rank) * 4 * units + unit;
                tell(to, holds ? di : 0.0f);
                tell(to + units, holds ? df : 0.0f);
                tell(to + 2 * units, holds ? dg : 0.0f);
                tell(to + 3 * units, holds ? d_o : 0.0f);
                *carry = holds ? dc * f : 0.0f;
                uint next = row + of.slices;
                if (next < rows) {
                    uint at = rank_of(start + next, group, groups) * units;
                    for (int i = 0; i < 4; i++) fetched[i * blockDim.x] = gate[4 * at + i * units];
                    fetched[4 * blockDim.x] = cell[at];
                    fetched[5 * blockDim.x] = d[row_order[start + next] * wide];
                    if (start + next < next_running) fetched[6 * blockDim.x] = last_cell[at];
                }
            }
        }
    }
}

// A block of 256 threads has twice the registers for each.
#define FORWARD(NAME, THREADS)                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                    \
        NAME(Layer of, float* gates, float* cells, float* outputs, const float* recurrent,      \
             const float* bias, ulong apart, const uint* lengths, const uint* order,            \
             const uint* begins) {                                                              \
        forward(of, gates, cells, outputs, recurrent, bias, apart, lengths, order, begins);     \
    }

FORWARD(lstm_forward, 256)
FORWARD(lstm_forward_wide, 512)

#define BACKWARD(NAME, LANES, THREADS)                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                    \
        NAME(Layer of, const float* gates, const float* cells, const float* dy, float* dgates,  \
             const float* recurrent, ulong apart, const uint* lengths, const uint* order,       \
             const uint* begins) {                                                              \
        backward<LANES>(of, gates, cells, dy, dgates, recurrent, apart, lengths, order,         \
                        begins);                                                                \
    }

// For blocks of 8 units, of 16, and of more.
BACKWARD(lstm_backward_8, 16, 256)
BACKWARD(lstm_backward_16, 8, 256)
BACKWARD(lstm_backward_32, 4, 256)
BACKWARD(lstm_backward_8_wide, 16, 512)
BACKWARD(lstm_backward_16_wide, 8, 512)
BACKWARD(lstm_backward_32_wide, 4, 512)
