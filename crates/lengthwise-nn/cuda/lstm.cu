// The whole sequence of an LSTM layer in one launch.
//
// The units of a direction are split over blocks that run at the same time, and the rows over groups of
// such blocks. A thread keeps its share of the recurrent weights in registers: 16 deep, four columns
// wide. After each step, blocks tell each other their results through memory whose bits were all set
// before: whoever needs a number waits until it is no longer unset. A block goes over its rows in
// chunks, so that one chunk's results travel while the next is computed.

#define DEPTH 16
#define UNSET 0xffffffffu

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
// four rows of a tile. `from` is the vector of the group's first row, `apart` the numbers between rows.
template <int AHEAD>
static __device__ __forceinline__ void gather4(float* to, const float* from, uint apart, uint count,
                                               uint rows, uint tiles, uint depth) {
    uint row = threadIdx.x % 4, quads = count / 4;
    uint shift = 32 - __clz(quads - 1), mask = (1u << shift) - 1;
    uint total = tiles << shift, step = blockDim.x / 4;
    for (uint first = threadIdx.x / 4; first < total; first += AHEAD * step) {
        float4 v[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            uint at = first + a * step, tile = at >> shift, quad = at & mask;
            bool mine = at < total && quad < quads && tile * 4 + row < rows;
            if (mine) v[a] = look(from + (ulong)(tile * 4 + row) * apart + quad * 4);
        }
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            uint at = first + a * step, tile = at >> shift, quad = at & mask;
            bool mine = at < total && quad < quads && tile * 4 + row < rows;
            if (mine) {
                while (unset(v[a])) v[a] = look(from + (ulong)(tile * 4 + row) * apart + quad * 4);
                float* place = to + ((ulong)tile * depth + quad) * 4 + row;
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
                                               uint rows, uint tiles, uint depth) {
    for (uint tile = 0; tile < tiles; tile++) {
        uint row = threadIdx.x % 4;
        if (tile * 4 + row >= rows) continue;
        const float* begin = from + (ulong)(tile * 4 + row) * apart;
        for (uint k = threadIdx.x / 4; k < count; k += blockDim.x / 4) {
            float v = look_one(begin + k);
            while (unset(v)) v = look_one(begin + k);
            to[((ulong)tile * depth + k) * 4 + row] = v;
        }
    }
}

// Sums 16 values over `LANES` neighbouring lanes; lane `q` ends with the values from `q * 16 / LANES`.
template <int LANES>
static __device__ __forceinline__ void share(float (&v)[16], uint lane) {
#pragma unroll
    for (int far = LANES / 2, half = 8; far >= 1; far /= 2, half /= 2) {
        bool high = lane & far;
#pragma unroll
        for (int i = 0; i < half; i++) {
            float give = high ? v[i] : v[i + half], keep = high ? v[i + half] : v[i];
            v[i] = keep + __shfl_xor_sync(~0u, give, far);
        }
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
extern "C" __global__ void __launch_bounds__(512, 1)
    lstm_forward(Layer of, float* gates, float* cells, float* outputs, const float* recurrent,
                 const float* bias, ulong apart, const uint* lengths) {
    uint width = 1u << of.width_log, units = of.units, depth = of.slices * DEPTH;
    uint block = blockIdx.x % of.blocks, team = blockIdx.x / of.blocks;
    uint groups = (of.rows + of.group_rows - 1) / of.group_rows;
    uint direction = of.direction + team / groups, group = team % groups;
    uint first_unit = block * width, first_row = group * of.group_rows;
    uint group_rows = min(of.group_rows, of.rows - first_row);
    ulong places = (ulong)of.steps * of.rows;
    gates += direction * places * 4 * units;
    cells += direction * places * units;
    outputs += direction * units;
    recurrent += direction * apart;
    bias += direction * apart;

    uint chunk = 4 * of.tiles, parts = of.slices / 4;
    float4* states = shared;
    float4* sums = states + of.tiles * depth;
    float* carried = (float*)(sums + parts * chunk * width);
    for (uint at = threadIdx.x; at < of.tiles * depth; at += blockDim.x)
        states[at] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (uint at = threadIdx.x; at < of.group_rows * width; at += blockDim.x) carried[at] = 0.0f;

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
    // The unit of this thread once sums are made; always the same one.
    uint own_unit = threadIdx.x & (width - 1), unit = first_unit + own_unit;
    float biases[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (unit < units)
        for (int gate = 0; gate < 4; gate++) biases[gate] = bias[gate * units + unit];
    __syncthreads();

    for (uint n = 0; n < of.steps; n++) {
        uint time = direction ? of.steps - 1 - n : n, before = direction ? time + 1 : time - 1;
        for (uint start = 0; start < group_rows; start += chunk) {
            uint rows = min(chunk, group_rows - start), begin = first_row + start;
            uint row = threadIdx.x >> of.width_log;
            float x[4];
            if (row < rows && unit < units) {
                const float* from = gates + ((ulong)time * of.rows + begin + row) * 4 * units + unit;
                for (int gate = 0; gate < 4; gate++) x[gate] = from[gate * units];
            }
            if (n > 0) {
                uint wide = of.directions * units;
                const float* from = outputs + ((ulong)before * of.rows + begin) * wide;
                if (four) gather4<4>((float*)states, from, wide, units, rows, of.tiles, depth);
                else gather1((float*)states, from, wide, units, rows, of.tiles, depth);
                __syncthreads();
                for (uint tile = 0; tile * 4 < rows; tile++) {
                    float v[16];
                    multiply(v, weights, states + tile * depth + slice, of.slices);
                    share<4>(v, lane);
                    sums[(part * chunk + tile * 4 + lane_part) * width + own] =
                        make_float4(v[0], v[1], v[2], v[3]);
                }
                __syncthreads();
            }
            for (; row < rows && unit < units; row += of.slices) {
                ulong place = (ulong)time * of.rows + begin + row;
                float* gate = gates + place * 4 * units + unit;
                if (row >= of.slices)
                    for (int which = 0; which < 4; which++) x[which] = gate[which * units];
                for (int which = 0; which < 4; which++) x[which] += biases[which];
                if (n > 0) {
                    for (uint from = 0; from < parts; from++) {
                        float4 sum = sums[(from * chunk + row) * width + own_unit];
                        x[0] += sum.x, x[1] += sum.y, x[2] += sum.z, x[3] += sum.w;
                    }
                }
                float* carry = carried + (start + row) * width + own_unit;
                float i = logistic(x[0]), f = logistic(x[1]), g = hyperbolic(x[2]);
                float o = logistic(x[3]), c = f * *carry + i * g, h = o * hyperbolic(c);
                bool holds = time < lengths[begin + row];
                c = holds ? c : 0.0f, h = holds ? h : 0.0f;
                tell(outputs + place * of.directions * units + unit, h);
                *carry = c;
                cells[place * units + unit] = c;
                gate[0] = i, gate[units] = f, gate[2 * units] = g, gate[3 * units] = o;
            }
        }
    }
}

// `gates` are those after their functions; `dgates` come in unset. `LANES` neighbouring lanes share
// four units.
template <int LANES>
static __device__ __forceinline__ void backward(Layer of, const float* gates, const float* cells,
                                                const float* dy, float* dgates,
                                                const float* recurrent, ulong apart,
                                                const uint* lengths) {
    const uint QUADS = 32 / LANES;
    uint width = 1u << of.width_log, units = of.units;
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
    float* carried = sums + parts * chunk * width;
    for (uint at = threadIdx.x; at < of.tiles * depth; at += blockDim.x)
        states[at] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (uint at = threadIdx.x; at < of.group_rows * width; at += blockDim.x) carried[at] = 0.0f;

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
    __syncthreads();

    for (uint n = 0; n < of.steps; n++) {
        uint time = direction ? n : of.steps - 1 - n, after = direction ? time - 1 : time + 1;
        // The cells of the step before are zero before the first.
        bool begins = n == of.steps - 1;
        uint before = direction ? time + 1 : time - 1;
        for (uint start = 0; start < group_rows; start += chunk) {
            uint rows = min(chunk, group_rows - start), begin = first_row + start;
            uint row = threadIdx.x >> of.width_log;
            float i, f, g, o, c, last, dh;
#define FETCH()                                                                                 \
    {                                                                                           \
        ulong place = (ulong)time * of.rows + begin + row;                                      \
        const float* gate = gates + place * 4 * units + unit;                                   \
        i = gate[0], f = gate[units], g = gate[2 * units], o = gate[3 * units];                 \
        c = cells[place * units + unit], dh = dy[place * of.directions * units + unit];         \
        last = begins ? 0.0f : cells[((ulong)before * of.rows + begin + row) * units + unit];   \
    }
            if (row < rows && unit < units) FETCH();
            if (n > 0) {
                const float* from = dgates + ((ulong)after * of.rows + begin) * 4 * units;
                gather4<4>((float*)states, from, 4 * units, 4 * units, rows, of.tiles, depth);
                __syncthreads();
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
            for (; row < rows && unit < units; row += of.slices) {
                if (row >= of.slices) FETCH();
                if (n > 0)
                    for (uint from = 0; from < parts; from++)
                        dh += sums[(from * chunk + row) * width + own_unit];
                float* carry = carried + (start + row) * width + own_unit;
                float t = hyperbolic(c), dc = dh * o * (1.0f - t * t) + *carry;
                bool holds = time < lengths[begin + row];
                float di = dc * g * i * (1.0f - i), df = dc * last * f * (1.0f - f);
                float dg = dc * i * (1.0f - g * g), d_o = dh * t * o * (1.0f - o);
                float* gate = dgates + ((ulong)time * of.rows + begin + row) * 4 * units + unit;
                tell(gate, holds ? di : 0.0f);
                tell(gate + units, holds ? df : 0.0f);
                tell(gate + 2 * units, holds ? dg : 0.0f);
                tell(gate + 3 * units, holds ? d_o : 0.0f);
                *carry = holds ? dc * f : 0.0f;
            }
        }
    }
#undef FETCH
}

#define BACKWARD(NAME, LANES)                                                                       \
    extern "C" __global__ void __launch_bounds__(512, 1)                                            \
        NAME(Layer of, const float* gates, const float* cells, const float* dy, float* dgates,      \
             const float* recurrent, ulong apart, const uint* lengths) {                            \
        backward<LANES>(of, gates, cells, dy, dgates, recurrent, apart, lengths);                   \
    }

// For blocks of 8 units, of 16, and of more.
BACKWARD(lstm_backward_8, 16)
BACKWARD(lstm_backward_16, 8)
BACKWARD(lstm_backward_32, 4)
