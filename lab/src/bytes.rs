//! Numbers as bytes, the same on every machine.

/// The bytes of some floats.
pub(crate) fn of_floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Floats from their bytes.
pub(crate) fn floats(bytes: &[u8]) -> Vec<f32> {
    let (each, _) = bytes.as_chunks::<4>();
    each.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// The bytes of some numbers.
pub(crate) fn of_numbers(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Numbers from their bytes.
pub(crate) fn numbers(bytes: &[u8]) -> Vec<f64> {
    let (each, _) = bytes.as_chunks::<8>();
    each.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
}
