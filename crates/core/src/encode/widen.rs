//! Widen: UTF-8 to text with one, two or four bytes per character, as Python stores it.
//!
//! Cost: 0.1 ns per ASCII character in a run of ASCII, 1 ns for others. The bytes are validated on the way: a
//! separate pass would take as long again.

use std::mem::MaybeUninit;

use crate::memory::advise_huge_pages;

/// How many bytes of ASCII are widened at once.
const BLOCK: usize = 16;

/// Returns the number of characters of some UTF-8, and a bound of the highest: the highest that has the same
/// first byte. Bytes that are not UTF-8 give arbitrary numbers.
pub fn measure(utf8: &[u8]) -> (usize, u32) {
    let (mut count, mut highest) = (0, 0);
    // Few enough for a sum of 8 bits.
    for part in utf8.chunks(192) {
        // All bytes but the continuation bytes.
        count += usize::from(part.iter().map(|&byte| u8::from(byte as i8 >= -0x40)).sum::<u8>());
        highest = part.iter().fold(highest, |highest, &byte| highest.max(byte));
    }
    let highest = match highest {
        ..0x80 => 0x7f,
        0x80..0xe0 => u32::from(highest & 0x1f) << 6 | 0x3f,
        0xe0..0xf0 => 0xffff,
        0xf0.. => 0x10_ffff,
    };
    (count, highest)
}

/// Fills `out`, which has the length that [`measure`] returns, and returns whether it is full; it is not if
/// the bytes are not UTF-8. `narrow` converts a character, which is at most the bound of `measure`, to a
/// number of the right size.
pub fn widen<T: Copy + From<u8>>(utf8: &[u8], out: &mut [MaybeUninit<T>], narrow: impl Fn(u32) -> T) -> bool {
    // A large buffer is fresh from the system, which takes longer to map it page by page than this loop to
    // fill it.
    advise_huge_pages(out.as_ptr(), out.len());
    let (mut at, mut end) = (0, 0);
    // Here a character can be read as four bytes, and a block can be written.
    while at + BLOCK + 4 <= utf8.len() && end + BLOCK <= out.len() {
        // SAFETY: the loop condition: BLOCK bytes follow `at` in `utf8`, and BLOCK characters fit after `end`
        // in `out`.
        unsafe {
            let block = utf8.as_ptr().add(at).cast::<[u8; BLOCK]>().read();
            if block.is_ascii() {
                out.as_mut_ptr().add(end).cast::<[T; BLOCK]>().write_unaligned(block.map(T::from));
                (at, end) = (at + BLOCK, end + BLOCK);
                continue;
            }
        }
        // One by one to the end of the block that is not ASCII.
        let later = at + BLOCK;
        while at < later {
            // SAFETY: `at` is below `later`, and at least four bytes follow that, by the condition of the
            // outer loop.
            let next = unsafe { utf8.as_ptr().add(at).cast::<u32>().read_unaligned() };
            let Some((char, size)) = first_char(u32::from_le(next)) else { return false };
            // SAFETY: each character advances `at` by at least one byte, so at most BLOCK are written after
            // the `end` for which the outer loop has checked that BLOCK fit.
            unsafe { out.as_mut_ptr().add(end).write(MaybeUninit::new(narrow(char))) };
            (at, end) = (at + size, end + 1);
        }
    }
    let Ok(rest) = std::str::from_utf8(&utf8[at..]) else { return false };
    let mut room = out[end..].iter_mut();
    for char in rest.chars() {
        let Some(room) = room.next() else { return false };
        room.write(narrow(char.into()));
    }
    room.len() == 0
}

/// Returns the character that four bytes begin with, and its size; `None` if it is invalid. The first byte is
/// the lowest.
#[inline(always)]
fn first_char(bytes: u32) -> Option<(u32, usize)> {
    let low = |byte: u32| bytes >> (8 * byte) & 0x3f;
    if bytes & 0x80 == 0 {
        return Some((bytes & 0x7f, 1));
    }
    if bytes & 0xc0_c0_f0 == 0x80_80_e0 {
        let char = (bytes & 0x0f) << 12 | low(1) << 6 | low(2);
        // Not overlong, and no surrogate.
        return (char >= 0x800 && char & 0xf800 != 0xd800).then_some((char, 3));
    }
    if bytes & 0xc0_e0 == 0x80_c0 {
        let char = (bytes & 0x1f) << 6 | low(1);
        return (char >= 0x80).then_some((char, 2));
    }
    if bytes & 0xc0_c0_c0_f8 == 0x80_80_80_f0 {
        let char = (bytes & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3);
        return (0x1_0000..0x11_0000).contains(&char).then_some((char, 4));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `widen` makes of it, if it is filled.
    fn widened(utf8: &[u8]) -> Option<Vec<u32>> {
        let mut wide = vec![MaybeUninit::new(0); measure(utf8).0];
        // SAFETY: all of them were initialized above.
        widen(utf8, &mut wide, |char| char)
            .then(|| wide.iter().map(|number| unsafe { number.assume_init() }).collect())
    }

    #[test]
    fn every_character_stands_for_itself_among_all_others() {
        let kinds =
            ["a", "é", "ÿ", "Ā", "߿", "中", "\u{ffff}", "🦆", "\u{10ffff}", "sixteen letters a", "\u{80}"];
        for n in 0..kinds.len().pow(4) {
            let kind = |place: u32| kinds[n / kinds.len().pow(place) % kinds.len()];
            let text: String = (0..12).map(|place| kind(place % 4)).collect();
            let (count, highest) = measure(text.as_bytes());
            assert_eq!(count, text.chars().count());
            let exact = text.chars().max().unwrap() as u32;
            let class = |char| [0x7f, 0xff, 0xffff, 0x10_ffff].into_iter().position(|most| char <= most);
            assert_eq!(class(highest), class(exact), "{text}");
            assert_eq!(widened(text.as_bytes()), Some(text.chars().map(u32::from).collect()));
        }
        assert_eq!(measure(b""), (0, 0x7f));
    }

    #[test]
    fn it_takes_what_std_takes() {
        // All beginnings of characters, right and wrong, in a text long enough to be read by blocks, and at
        // its end.
        let edges = [0x00, 0x61, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xe2, 0xf1, 0xff];
        for first in 0..=255 {
            for others in 0..edges.len().pow(3) {
                let edge = |place: u32| edges[others / edges.len().pow(place) % edges.len()];
                let odd = [first, edge(0), edge(1), edge(2)];
                let within = [b"abc", &odd[..], b"sixteen letters and more"].concat();
                let last = [b"sixteen letters and more", &odd[..]].concat();
                for utf8 in [within, last] {
                    let text = std::str::from_utf8(&utf8).ok();
                    assert_eq!(
                        widened(&utf8),
                        text.map(|text| text.chars().map(u32::from).collect()),
                        "{utf8:x?}"
                    );
                }
            }
        }
    }

    #[test]
    fn long_texts_are_counted_in_parts() {
        let text = "中a".repeat(1000) + &"b".repeat(500);
        assert_eq!(measure(text.as_bytes()), (2500, 0xffff));
    }
}
