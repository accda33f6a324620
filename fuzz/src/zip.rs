//! Checksums of zip files.

/// Gives what is in a zip the checksums that it has, as no input but the first would have them.
pub(crate) fn repair(file: &mut [u8]) {
    let number = |file: &[u8], at: usize| {
        file.get(at..at + 4)
            .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    };
    let mut found = Vec::new();
    for at in 0..file.len().saturating_sub(46) {
        if file[at..].starts_with(b"PK\x01\x02")
            && let (Some(size), Some(local)) = (number(file, at + 20), number(file, at + 42))
            && let Some(lengths) = number(file, local.saturating_add(26))
        {
            let start = local + 30 + (lengths & 0xffff) + (lengths >> 16);
            if let Some(content) = file.get(start..start.saturating_add(size)) {
                found.push((at + 16, local + 14, crc(content)));
            }
        }
    }
    for (one, other, sum) in found {
        for at in [one, other] {
            if let Some(place) = file.get_mut(at..at + 4) {
                place.copy_from_slice(&sum.to_le_bytes());
            }
        }
    }
}

/// The checksum of zip files.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            if sum & 1 > 0 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 }
        })
    })
}
