//! Bytes: how targets take apart their input.

/// Takes the next byte; 0 at the end.
pub fn take(data: &mut &[u8]) -> u8 {
    match data.split_first() {
        Some((&byte, rest)) => {
            *data = rest;
            byte
        }
        None => 0,
    }
}

/// Takes two bytes as a number.
pub fn take_u16(data: &mut &[u8]) -> usize {
    take(data) as usize | (take(data) as usize) << 8
}

/// Takes the next byte as a choice.
pub fn choose<'a, T>(data: &mut &[u8], from: &'a [T]) -> &'a T {
    &from[take(data) as usize % from.len()]
}

/// Returns the rest as text.
pub fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}
