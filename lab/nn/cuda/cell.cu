// One step of an LSTM layer, for layers whose weights do not fit in the registers of the device. The
// recurrent products are made between the steps.

// `n` counts the steps of each direction from its own beginning.
extern "C" __global__ void cell_forward(uint n, uint steps, uint rows, uint units, uint directions,
                                        float* gates, float* cells, float* outputs,
                                        const float* bias, ulong apart, const uint* lengths) {
    uint at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= directions * rows * units) return;
    uint unit = at % units, row = at / units % rows, direction = at / units / rows;
    uint time = direction ? steps - 1 - n : n, before = direction ? time + 1 : time - 1;
    ulong places = (ulong)steps * rows, place = (ulong)time * rows + row;
    float* gate = gates + (direction * places + place) * 4 * units + unit;
    bias += direction * apart + unit;
    cells += direction * places * units + unit;
    float i = logistic(gate[0] + bias[0]), f = logistic(gate[units] + bias[units]);
    float g = hyperbolic(gate[2 * units] + bias[2 * units]);
    float o = logistic(gate[3 * units] + bias[3 * units]);
    float last = n == 0 ? 0.0f : cells[((ulong)before * rows + row) * units];
    bool holds = time < lengths[row];
    float c = holds ? f * last + i * g : 0.0f;
    cells[place * units] = c;
    outputs[(place * directions + direction) * units + unit] = o * hyperbolic(c);
    gate[0] = i, gate[units] = f, gate[2 * units] = g, gate[3 * units] = o;
}

// `n` counts the steps from each direction's end. `dh` and `dcells` are those of every row.
extern "C" __global__ void cell_backward(uint n, uint steps, uint rows, uint units, uint directions,
                                         const float* gates, const float* cells, const float* dy,
                                         float* dgates, const float* dh, float* dcells,
                                         const uint* lengths) {
    uint at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= directions * rows * units) return;
    uint unit = at % units, row = at / units % rows, direction = at / units / rows;
    uint time = direction ? n : steps - 1 - n, before = direction ? time + 1 : time - 1;
    ulong places = (ulong)steps * rows, place = (ulong)time * rows + row;
    const float* gate = gates + (direction * places + place) * 4 * units + unit;
    float* dgate = dgates + (direction * places + place) * 4 * units + unit;
    cells += direction * places * units + unit;
    float i = gate[0], f = gate[units], g = gate[2 * units], o = gate[3 * units];
    float last = n == steps - 1 ? 0.0f : cells[((ulong)before * rows + row) * units];
    float d = dy[(place * directions + direction) * units + unit] + dh[at];
    float t = hyperbolic(cells[place * units]), dc = d * o * (1.0f - t * t) + dcells[at];
    bool holds = time < lengths[row];
    dgate[0] = holds ? dc * g * i * (1.0f - i) : 0.0f;
    dgate[units] = holds ? dc * last * f * (1.0f - f) : 0.0f;
    dgate[2 * units] = holds ? dc * i * (1.0f - g * g) : 0.0f;
    dgate[3 * units] = holds ? d * t * o * (1.0f - o) : 0.0f;
    dcells[at] = holds ? dc * f : 0.0f;
}
