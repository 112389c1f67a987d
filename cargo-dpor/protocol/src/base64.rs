//! Base64 in the alphabet that is safe in shells and URLs (RFC 4648 §5), without padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 2);
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |word, i| {
            word << 8 | u32::from(chunk.get(i).copied().unwrap_or(0))
        });
        for i in 0..=chunk.len() {
            text.push(ALPHABET[(word >> (18 - 6 * i)) as usize & 63] as char);
        }
    }
    text
}

/// Decodes the bytes; says whether the text ends where an encoded text can end, with unused bits zero. `None` if a
/// character is not in the alphabet.
pub(crate) fn decode(text: &str) -> Option<(Vec<u8>, bool)> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut word, mut bits) = (0u32, 0);
    for character in text.bytes() {
        let value = ALPHABET.iter().position(|&c| c == character)?;
        word = word << 6 | value as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
            word &= (1 << bits) - 1;
        }
    }
    Some((bytes, bits < 6 && word == 0))
}
