// One step of an LSTM layer, for layers whose weights do not fit in the registers of the device. The
// recurrent products are made between the steps. Rows are in an order in which the longest come first, so
// that those which are running at a step are the first; gates and cells are those of running rows alone.

// How many rows are running at a step.
static __device__ __forceinline__ uint running_in(const uint* begins, uint time) {
    return begins[time + 1] - begins[time];
}

// `n` counts the steps of each direction from its own beginning. `states` are the outputs of the last step of
// every row, in order.
extern "C" __global__ void cell_forward(uint n, uint steps, uint rows, uint units, uint directions,
                                        ulong places, float* gates, float* cells, float* outputs,
                                        float* states, const float* bias, ulong apart,
                                        const uint* lengths, const uint* order,
                                        const uint* begins) {
    uint at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= directions * rows * units) return;
    uint unit = at % units, rank = at / units % rows, direction = at / units / rows;
    uint time = direction ? steps - 1 - n : n, before = direction ? time + 1 : time - 1;
    if (rank >= running_in(begins, time)) return;
    uint row = order[rank];
    ulong place = (ulong)begins[time] + rank;
    float* gate = gates + (direction * places + place) * 4 * units + unit;
    bias += direction * apart + unit;
    cells += direction * places * units + unit;
    float i = logistic(gate[0] + bias[0]), f = logistic(gate[units] + bias[units]);
    float g = hyperbolic(gate[2 * units] + bias[2 * units]);
    float o = logistic(gate[3 * units] + bias[3 * units]);
    bool going = n > 0 && rank < running_in(begins, before);
    float last = going ? cells[((ulong)begins[before] + rank) * units] : 0.0f;
    bool holds = time < lengths[row];
    float c = holds ? f * last + i * g : 0.0f, h = holds ? o * hyperbolic(c) : 0.0f;
    cells[place * units] = c;
    outputs[(((ulong)time * rows + row) * directions + direction) * units + unit] = h;
    states[at] = h;
    gate[0] = i, gate[units] = f, gate[2 * units] = g, gate[3 * units] = o;
}

// `n` counts the steps from each direction's end. `dh` and `dcells` are those of every row, in order.
extern "C" __global__ void cell_backward(uint n, uint steps, uint rows, uint units, uint directions,
                                         ulong places, const float* gates, const float* cells,
                                         const float* dy, float* dgates, const float* dh,
                                         float* dcells, const uint* lengths, const uint* order,
                                         const uint* begins) {
    uint at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= directions * rows * units) return;
    uint unit = at % units, rank = at / units % rows, direction = at / units / rows;
    uint time = direction ? n : steps - 1 - n, before = direction ? time + 1 : time - 1;
    if (rank >= running_in(begins, time)) return;
    uint row = order[rank];
    ulong place = (ulong)begins[time] + rank;
    const float* gate = gates + (direction * places + place) * 4 * units + unit;
    float* dgate = dgates + (direction * places + place) * 4 * units + unit;
    cells += direction * places * units + unit;
    float i = gate[0], f = gate[units], g = gate[2 * units], o = gate[3 * units];
    bool going = n < steps - 1 && rank < running_in(begins, before);
    float last = going ? cells[((ulong)begins[before] + rank) * units] : 0.0f;
    float d = dy[(((ulong)time * rows + row) * directions + direction) * units + unit] + dh[at];
    float t = hyperbolic(cells[place * units]), dc = d * o * (1.0f - t * t) + dcells[at];
    bool holds = time < lengths[row];
    dgate[0] = holds ? dc * g * i * (1.0f - i) : 0.0f;
    dgate[units] = holds ? dc * last * f * (1.0f - f) : 0.0f;
    dgate[2 * units] = holds ? dc * i * (1.0f - g * g) : 0.0f;
    dgate[3 * units] = holds ? d * t * o * (1.0f - o) : 0.0f;
    dcells[at] = holds ? dc * f : 0.0f;
}
