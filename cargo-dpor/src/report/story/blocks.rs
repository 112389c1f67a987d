//! Numbers for the addresses of memory blocks, which mean nothing to a reader.

/// Numbers for addresses of memory, in the order in which they are met.
#[derive(Default)]
pub struct Blocks {
    known: Vec<String>,
}

/// Minimum number of digits of an address; other hexadecimal numbers mostly have fewer.
const DIGITS: usize = 9;

impl Blocks {
    /// Takes note of the addresses in a text.
    pub fn learn(&mut self, text: &str) {
        for (address, _) in addresses(text) {
            if !self.known.iter().any(|known| known == address) {
                self.known.push(address.to_owned());
            }
        }
    }

    /// The number of a block whose address was met.
    pub fn number(&self, address: &str) -> Option<String> {
        let known = self.known.iter().position(|known| known == address);
        known.map(|number| format!("&{}", number + 1))
    }

    /// The text with numbers instead of addresses.
    pub fn replaced(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((address, at)) = addresses(rest).next() {
            out.push_str(&rest[..at]);
            out.push_str(self.number(address).as_deref().unwrap_or(address));
            rest = &rest[at + address.len()..];
        }
        out.push_str(rest);
        // As pointers are printed.
        match out.split(' ').any(|word| word.trim_end_matches(',') == "0x0") {
            true => out
                .split(' ')
                .map(|word| {
                    if word.trim_end_matches(',') == "0x0" {
                        word.replace("0x0", "null")
                    } else {
                        word.to_owned()
                    }
                })
                .collect::<Vec<_>>()
                .join(" "),
            false => out,
        }
    }
}

/// The addresses in a text, and their positions.
fn addresses(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.match_indices("0x").filter_map(|(at, _)| {
        let digits = text[at + 2..].chars().take_while(char::is_ascii_hexdigit).count();
        (digits >= DIGITS).then(|| (&text[at..at + 2 + digits], at))
    })
}
