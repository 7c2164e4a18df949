//! UTF-16 out of UTF-8, for readers with strings of their own, such as Python.
//!
//! Python copies ASCII at memory speed, but makes a `str` of other UTF-8 at 0.5 to 1.4 GB/s, and of UTF-16 at 2 to 5
//! GB/s, which gains more than the conversion costs.
//!
//! Cost: 2 GB/s and more on English, where 16 ASCII characters are widened at once, and on Chinese, where two
//! characters are taken out of one word. When it loses: scripts of two-byte characters go one by one.

/// Appends the bytes as UTF-16. `false`, and nothing is appended, if they are not UTF-8, or if they are ASCII, which
/// nobody needs in another form.
pub fn utf16(bytes: &[u8], units: &mut Vec<u16>) -> bool {
    if bytes.is_ascii() || simdutf8::basic::from_utf8(bytes).is_err() {
        return false;
    }
    // No character has more units than bytes.
    units.reserve(bytes.len());
    let out = units.as_mut_ptr();
    let (mut at, mut end) = (0, units.len());
    let put = |end: &mut usize, unit: u32| {
        // SAFETY: each unit stands for a byte or more, and there is room for as many units as bytes.
        unsafe { out.add(*end).write(unit as u16) };
        *end += 1;
    };
    while at < bytes.len() {
        while let Some(ascii) = bytes[at..].first_chunk::<16>()
            && u128::from_le_bytes(*ascii) & (u128::MAX / 255 * 128) == 0
        {
            // SAFETY: as above, for 16 characters of one unit.
            unsafe { out.add(end).cast::<[u16; 16]>().write(ascii.map(u16::from)) };
            at += 16;
            end += 16;
        }
        // Two characters of three bytes, 1110xxxx 10xxxxxx 10xxxxxx each.
        while let Some(chunk) = bytes[at..].first_chunk::<8>()
            && let word = u64::from_le_bytes(*chunk)
            && word & 0xc0c0_f0c0_c0f0 == 0x8080_e080_80e0
        {
            put(&mut end, (word << 12 & 0xf000 | word >> 2 & 0xfc0 | word >> 16 & 0x3f) as u32);
            put(&mut end, (word >> 12 & 0xf000 | word >> 26 & 0xfc0 | word >> 40 & 0x3f) as u32);
            at += 6;
        }
        let Some(&lead) = bytes.get(at) else { break };
        let tail = |nth: usize| u32::from(bytes[at + nth] & 0x3f);
        match lead {
            0..0x80 => {
                put(&mut end, lead.into());
                at += 1;
            }
            0x80..0xe0 => {
                put(&mut end, u32::from(lead & 0x1f) << 6 | tail(1));
                at += 2;
            }
            0xe0..0xf0 => {
                put(&mut end, u32::from(lead & 0xf) << 12 | tail(1) << 6 | tail(2));
                at += 3;
            }
            0xf0.. => {
                let character = u32::from(lead & 7) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3);
                put(&mut end, 0xd800 + ((character - 0x10000) >> 10));
                put(&mut end, 0xdc00 + (character & 0x3ff));
                at += 4;
            }
        }
    }
    // SAFETY: so many have been written.
    unsafe { units.set_len(end) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn utf16_is_what_the_standard_library_makes(
            runs in proptest::collection::vec(("[a-z \\n]{0,40}|[\u{80}-\u{7ff}]{0,9}|[一-龥]{0,20}|\\PC{0,20}", 0..3usize), 0..8)
        ) {
            let text: String = runs.iter().map(|(run, times)| run.repeat(*times)).collect();
            let mut units = vec![7];
            if utf16(text.as_bytes(), &mut units) {
                prop_assert_eq!(&units[1..], text.encode_utf16().collect::<Vec<u16>>());
            } else {
                prop_assert!(text.is_ascii());
            }
            prop_assert_eq!(units[0], 7);
        }
    }

    #[test]
    fn every_character_comes_through() {
        let all: String = (0..=char::MAX as u32).filter_map(char::from_u32).collect();
        let mut units = Vec::new();
        assert!(utf16(all.as_bytes(), &mut units));
        assert!(units.into_iter().eq(all.encode_utf16()));
    }

    #[test]
    fn what_is_not_utf8_is_left_alone() {
        for bytes in [&b"a\xff"[..], b"\xe4\xb8", b"\xed\xa0\x80", b"ascii", b""] {
            let mut units = Vec::new();
            assert!(!utf16(bytes, &mut units));
            assert!(units.is_empty());
        }
    }
}
