// The whole sequence of an LSTM layer in one launch.
//
// The units of a direction are split over blocks that run at the same time, and the rows over groups of
// such blocks. A thread keeps its share of the recurrent weights in registers: 16 deep, four columns
// wide. After each step, blocks tell each other their results through memory whose bits were all set
// before: whoever needs a number waits until it is no longer unset. A block goes over its rows in
// chunks, so that one chunk's results travel while the next is computed.

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
    uint steps, rows, units, directions;
    // The direction of the first block.
    uint direction;
    // How many parts of 16 a column of recurrent weights has.
    uint slices;
    // Blocks of a group, and the units of one, as a power of two.
    uint blocks, width_log;
    // Rows of a group, and those of a chunk over 4.
    uint group_rows, tiles;
};

// Which number of a told vector is in a slot of shared memory. Those read four at a time are a quarter
// of the slots apart, so that they are written without conflicts.
static __device__ __forceinline__ uint number_at(uint slot, uint depth, bool four) {
    uint quarter = depth / 4;
    return four ? slot % quarter * 4 + slot / quarter : slot;
}

// Brings the told vectors of a chunk into shared memory, rows side by side: `to[tile][slot]` has the
// four rows of a tile. `from` is the vector of the chunk's first row, `apart` the numbers between rows.
// `AHEAD` reads are under way at a time.
template <int AHEAD>
static __device__ __forceinline__ void gather4(float* to, const float* from, uint apart, uint count,
                                               uint rows, uint tiles, uint depth) {
    uint row = threadIdx.x % 4, first = threadIdx.x / 4, step = blockDim.x / 4, quads = count / 4;
    uint turns = (quads + step - 1) / step, tile = 0, turn = 0;
    while (tile < tiles) {
        float4 v[AHEAD];
        uint at[AHEAD], to_at[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            uint quad = first + turn * step, of = tile * 4 + row;
            at[a] = of * apart + quad * 4, to_at[a] = (tile * depth + quad) * 4 + row;
            if (quad >= quads || of >= rows) at[a] = NONE;
            v[a] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (at[a] != NONE) v[a] = look(from + at[a]);
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
static __device__ __forceinline__ void gather1(float* to, const float* from, uint apart, uint count,
                                               uint rows, uint depth) {
    for (uint row = threadIdx.x % 4; row < rows; row += 4) {
        for (uint k = threadIdx.x / 4; k < count; k += blockDim.x / 4) {
            float v = look_one(from + (row * apart + k));
            while (unset(v)) v = look_one(from + (row * apart + k));
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
static __device__ __forceinline__ void forward(const Layer& of, float* gates, float* cells,
                                               float* outputs, const float* recurrent,
                                               const float* bias, ulong apart,
                                               const uint* lengths) {
    uint width = 1u << of.width_log, units = of.units, depth = of.slices * DEPTH;
    uint block = blockIdx.x % of.blocks, team = blockIdx.x / of.blocks;
    uint groups = (of.rows + of.group_rows - 1) / of.group_rows;
    uint direction = of.direction + team / groups, group = team % groups;
    uint first_unit = block * width, first_row = group * of.group_rows;
    uint group_rows = min(of.group_rows, of.rows - first_row), wide = of.directions * units;
    ulong places = (ulong)of.steps * of.rows;
    gates += direction * places * 4 * units;
    cells += direction * places * units;
    outputs += direction * units;
    recurrent += direction * apart;
    bias += direction * apart;

    uint chunk = 4 * of.tiles, parts = of.slices / 4;
    float4* states = shared;
    float4* sums = states + of.tiles * depth;
    float* brought = (float*)(sums + parts * chunk * width);
    float* carried = brought + 4 * blockDim.x;
    uint* row_lengths = (uint*)(carried + of.group_rows * width);
    for (uint at = threadIdx.x; at < of.tiles * depth; at += blockDim.x)
        states[at] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (uint at = threadIdx.x; at < of.group_rows * width; at += blockDim.x) carried[at] = 0.0f;
    for (uint at = threadIdx.x; at < group_rows; at += blockDim.x)
        row_lengths[at] = lengths[first_row + at];

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
    uint own_gate = own_row * 4 * units + unit;
    float biases[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (unit < units)
        for (int gate = 0; gate < 4; gate++) biases[gate] = bias[gate * units + unit];
    __syncthreads();

    for (uint n = 0; n < of.steps; n++) {
        uint time = direction ? of.steps - 1 - n : n, before = direction ? time + 1 : time - 1;
        for (uint start = 0; start < group_rows; start += chunk) {
            uint rows = min(chunk, group_rows - start), first = first_row + start;
            ulong place = (ulong)time * of.rows + first;
            if (n > 0) {
                const float* from = outputs + ((ulong)before * of.rows + first) * wide;
                if (four) gather4<4>((float*)states, from, wide, units, rows, of.tiles, depth);
                else gather1((float*)states, from, wide, units, rows, depth);
                __syncthreads();
            }
            // What comes from memory travels during the products.
            float* gate = gates + place * 4 * units;
            float* fetched = brought + threadIdx.x;
            bool mine = own_row < rows && unit < units;
            if (mine)
                for (int i = 0; i < 4; i++) begin(fetched + i * blockDim.x, gate + own_gate + i * units);
            if (n > 0) {
                for (uint tile = 0; tile * 4 < rows; tile++) {
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
                if (n > 0) {
                    const float4* sum = sums + row * width + own_unit;
                    for (uint from = 0; from < parts; from++, sum += chunk * width)
                        x[0] += sum->x, x[1] += sum->y, x[2] += sum->z, x[3] += sum->w;
                }
                float* carry = carried + (start + row) * width + own_unit;
                float i = logistic(x[0]), f = logistic(x[1]), g = hyperbolic(x[2]);
                float o = logistic(x[3]), c = f * *carry + i * g, h = o * hyperbolic(c);
                bool holds = time < row_lengths[start + row];
                c = holds ? c : 0.0f, h = holds ? h : 0.0f;
                tell(outputs + place * wide + (row * wide + unit), h);
                *carry = c;
                float* to = gate + (row * 4 * units + unit);
                to[0] = i, to[units] = f, to[2 * units] = g, to[3 * units] = o;
                cells[place * units + (row * units + unit)] = c;
                if (row + of.slices < rows)
                    for (int i = 0; i < 4; i++)
                        fetched[i * blockDim.x] = to[(of.slices * 4 + i) * units];
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
                                                const uint* lengths) {
    const uint QUADS = 32 / LANES;
    uint width = 1u << of.width_log, units = of.units, wide = of.directions * units;
    uint slices = 4 * of.slices, depth = slices * DEPTH;
    uint block = blockIdx.x % of.blocks, team = blockIdx.x / of.blocks;
    uint groups = (of.rows + of.group_rows - 1) / of.group_rows;
    uint direction = of.direction + team / groups, group = team % groups;
    uint first_unit = block * width, first_row = group * of.group_rows;
    uint group_rows = min(of.group_rows, of.rows - first_row);
    ulong places = (ulong)of.steps * of.rows;
    gates += direction * places * 4 * units;
    dgates += direction * places * 4 * units;
    cells += direction * places * units;
    dy += direction * units;
    recurrent += direction * apart;

    uint chunk = 4 * of.tiles, parts = slices / LANES;
    float4* states = shared;
    float* sums = (float*)(states + of.tiles * depth);
    float* brought = sums + parts * chunk * width;
    float* carried = brought + 7 * blockDim.x;
    uint* row_lengths = (uint*)(carried + of.group_rows * width);
    for (uint at = threadIdx.x; at < of.tiles * depth; at += blockDim.x)
        states[at] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (uint at = threadIdx.x; at < of.group_rows * width; at += blockDim.x) carried[at] = 0.0f;
    for (uint at = threadIdx.x; at < group_rows; at += blockDim.x)
        row_lengths[at] = lengths[first_row + at];

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

    for (uint n = 0; n < of.steps; n++) {
        uint time = direction ? n : of.steps - 1 - n, after = direction ? time - 1 : time + 1;
        // The cells of the step before are zero before the first.
        bool begins = n == of.steps - 1;
        uint before = direction ? time + 1 : time - 1;
        for (uint start = 0; start < group_rows; start += chunk) {
            uint rows = min(chunk, group_rows - start), first = first_row + start;
            ulong place = (ulong)time * of.rows + first;
            if (n > 0) {
                const float* from = dgates + ((ulong)after * of.rows + first) * 4 * units;
                gather4<4>((float*)states, from, 4 * units, 4 * units, rows, of.tiles, depth);
                __syncthreads();
            }
            // What comes from memory travels during the products.
            const float* gate = gates + place * 4 * units;
            const float* cell = cells + place * units;
            const float* last_cell = cells + ((ulong)before * of.rows + first) * units;
            const float* d = dy + place * wide;
            float* fetched = brought + threadIdx.x;
            bool mine = own_row < rows && unit < units;
            if (mine) {
                uint at = own_row * units + unit;
                for (int i = 0; i < 4; i++)
                    begin(fetched + i * blockDim.x, gate + own_row * 4 * units + unit + i * units);
                begin(fetched + 4 * blockDim.x, cell + at);
                begin(fetched + 5 * blockDim.x, d + own_row * wide + unit);
                if (!begins) begin(fetched + 6 * blockDim.x, last_cell + at);
            }
            if (n > 0) {
                for (uint tile = 0; tile * 4 < rows; tile++) {
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
                float last = begins ? 0.0f : fetched[6 * blockDim.x];
                if (n > 0) {
                    const float* sum = sums + row * width + own_unit;
                    for (uint from = 0; from < parts; from++, sum += chunk * width) dh += *sum;
                }
                float* carry = carried + (start + row) * width + own_unit;
                float t = hyperbolic(c), dc = dh * o * (1.0f - t * t) + *carry;
                bool holds = time < row_lengths[start + row];
                float di = dc * g * i * (1.0f - i), df = dc * last * f * (1.0f - f);
                float dg = dc * i * (1.0f - g * g), d_o = dh * t * o * (1.0f - o);
                float* to = dgates + place * 4 * units + (row * 4 * units + unit);
                tell(to, holds ? di : 0.0f);
                tell(to + units, holds ? df : 0.0f);
                tell(to + 2 * units, holds ? dg : 0.0f);
                tell(to + 3 * units, holds ? d_o : 0.0f);
                *carry = holds ? dc * f : 0.0f;
                uint next = row + of.slices, at = next * units + unit;
                if (next < rows) {
                    for (int i = 0; i < 4; i++)
                        fetched[i * blockDim.x] = gate[next * 4 * units + unit + i * units];
                    fetched[4 * blockDim.x] = cell[at];
                    fetched[5 * blockDim.x] = d[next * wide + unit];
                    if (!begins) fetched[6 * blockDim.x] = last_cell[at];
                }
            }
        }
    }
}

// A block of 256 threads has twice the registers for each.
#define FORWARD(NAME, THREADS)                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                    \
        NAME(Layer of, float* gates, float* cells, float* outputs, const float* recurrent,      \
             const float* bias, ulong apart, const uint* lengths) {                             \
        forward(of, gates, cells, outputs, recurrent, bias, apart, lengths);                    \
    }

FORWARD(lstm_forward, 256)
FORWARD(lstm_forward_wide, 512)

#define BACKWARD(NAME, LANES, THREADS)                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                    \
        NAME(Layer of, const float* gates, const float* cells, const float* dy, float* dgates,  \
             const float* recurrent, ulong apart, const uint* lengths) {                        \
        backward<LANES>(of, gates, cells, dy, dgates, recurrent, apart, lengths);               \
    }

// For blocks of 8 units, of 16, and of more.
BACKWARD(lstm_backward_8, 16, 256)
BACKWARD(lstm_backward_16, 8, 256)
BACKWARD(lstm_backward_32, 4, 256)
BACKWARD(lstm_backward_8_wide, 16, 512)
BACKWARD(lstm_backward_16_wide, 8, 512)
BACKWARD(lstm_backward_32_wide, 4, 512)
