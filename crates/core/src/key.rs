//! Key: a pre-token of up to 15 bytes and its length in two machine words.
//!
//! Cost: two instructions to compare, one multiplication to hash. Nearly all pre-tokens are that short;
//! longer ones are hashed 16 bytes at a time. The idea is gigatoken's.

/// The longest pre-token that is packed.
pub const PACKED: usize = 15;

/// A pre-token of 1 to 15 bytes, zero-padded, with its length in the top byte of the second half. [0, 0] is
/// no pre-token.
pub type Key = [u64; 2];

/// By length: the mask of the pre-token's bits, and the length in its position.
const SHAPES: [(Key, u64); 16] = {
    let mut shapes = [([0, 0], 0); 16];
    let mut len = 0;
    while len < 16 {
        let mask = (1u128 << (8 * len)) - 1;
        shapes[len] = ([mask as u64, (mask >> 64) as u64], (len as u64) << 56);
        len += 1;
    }
    shapes
};

/// Packs `text[start..end]`, 1 to 15 bytes long.
#[inline(always)]
pub fn pack(text: &[u8], start: usize, end: usize) -> Key {
    let len = end - start;
    let raw = match text[start..].first_chunk::<16>() {
        Some(bytes) => u128::from_le_bytes(*bytes),
        None => load_short(&text[start..end]),
    };
    let (mask, tag) = SHAPES[len & 15];
    [raw as u64 & mask[0], (raw >> 64) as u64 & mask[1] | tag]
}

/// Loads up to 15 bytes, zero-padded: two loads that may overlap, because copying so few bytes costs more.
#[inline(always)]
fn load_short(bytes: &[u8]) -> u128 {
    let len = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        first as u128 | (last as u128) << (8 * (len - 8))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        (first as u64 | (last as u64) << (8 * (len - 4))) as u128
    } else {
        bytes.iter().rev().fold(0, |word: u64, &byte| word << 8 | byte as u64) as u128
    }
}

/// Returns the bytes of a pre-token, and their number.
pub fn unpack([low, high]: Key) -> ([u8; 16], usize) {
    ((low as u128 | (high as u128) << 64).to_le_bytes(), (high >> 56) as usize)
}

/// Returns a number that orders pre-tokens as their bytes do: the first 15 bytes, then the length, where all
/// longer ones have the same. So two pre-tokens with the same number are equal, or both are longer than 15
/// bytes.
#[inline(always)]
pub fn order(pretoken: &[u8]) -> u128 {
    if pretoken.len() <= PACKED {
        order_of_key(pack(pretoken, 0, pretoken.len()))
    } else {
        let first: &[u8; 16] = pretoken.first_chunk().expect("16 bytes or more");
        u128::from_be_bytes(*first) & !0xFF | LONG
    }
}

/// The last byte of the order of pre-tokens that are not packed.
pub const LONG: u128 = PACKED as u128 + 1;

/// Returns the order of a packed pre-token.
#[inline(always)]
pub fn order_of_key([low, high]: Key) -> u128 {
    (low.swap_bytes() as u128) << 64 | high.swap_bytes() as u128
}

/// Returns the bytes of a packed pre-token from its order, and their number.
#[inline(always)]
pub fn pretoken_of_order(order: u128) -> ([u8; 16], usize) {
    (order.to_be_bytes(), (order & 0xFF) as usize)
}

/// Folds both halves of a 128-bit product: every bit of the input reaches the top bits.
#[inline(always)]
pub fn mix(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Hashes a packed pre-token.
#[inline(always)]
pub fn hash([low, high]: Key, seed: u64) -> u64 {
    mix(low ^ seed, high ^ 0xD1B5_4A32_D192_ED03)
}

/// Hashes a pre-token of 16 bytes or more; the last 16 may be read twice.
#[inline(never)]
pub fn hash_long(bytes: &[u8], seed: u64) -> u64 {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let mut hash = bytes.len() as u64 ^ seed;
    let mut at = 0;
    while at + 16 < bytes.len() {
        hash = mix(word(at) ^ hash, word(at + 8) ^ 0xD1B5_4A32_D192_ED03);
        at += 16;
    }
    let at = bytes.len() - 16;
    mix(word(at) ^ hash, word(at + 8) ^ 0x8CB9_2BA7_2F3D_8DD7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_bytes() {
        let bytes = [0, 1, b'a', 0xFF];
        let mut pretokens: Vec<Vec<u8>> = vec![];
        for len in [1, 2, 7, 8, 9, 14, 15, 16, 17] {
            for nth in 0..64 {
                let mut pretoken = vec![bytes[nth % 4]; len];
                pretoken[len / 2] = bytes[nth / 4 % 4];
                pretoken[len - 1] = bytes[nth / 16];
                pretokens.push(pretoken);
            }
        }
        for a in &pretokens {
            let (unpacked, len) = pretoken_of_order(order(a));
            assert!(len > PACKED || unpacked[..len] == a[..]);
            for b in &pretokens {
                let (of_a, of_b) = (order(a), order(b));
                assert!(of_a == of_b && of_a & 0xFF == LONG || of_a.cmp(&of_b) == a.cmp(b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_key_depends_on_the_pretoken_only() {
        let text: Vec<u8> = (1..=40).collect();
        for len in 1..=PACKED {
            for start in 0..=text.len() - len {
                let (bytes, unpacked) = unpack(pack(&text, start, start + len));
                assert_eq!(bytes[..unpacked], text[start..start + len]);
                assert_eq!(bytes[unpacked..15], [0; 15][unpacked..]);
                let alone = &text[start..start + len];
                assert_eq!(pack(&text, start, start + len), pack(alone, 0, len));
            }
        }
    }
}
