//! The units of debug information, and the code that each is about.

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, SectionId};
use object::read::elf::ElfFile64;
use object::{CompressionFormat, Object, ObjectSection};
use std::collections::HashSet;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The units of an executable.
#[derive(Default)]
pub struct Units {
    pub all: Vec<Unit>,
    /// The names of rustc's objects that units are about.
    pub objects: HashSet<String>,
    /// Starts and ends of code, in order, and the number of the unit.
    ranges: Vec<(u64, u64, usize)>,
}

/// A unit of debug information.
#[derive(Debug, PartialEq, Eq)]
pub enum Unit {
    /// A part of a crate, with the crate's name if the unit's name tells it.
    Rust { name: Option<String> },
    /// A source file in another language.
    Other { file: String },
}

impl Units {
    /// Reads the units, as far as they can be read.
    pub fn read(file: &ElfFile64<'_, object::LittleEndian>) -> Units {
        let section = |id: SectionId| {
            let section = file.section_by_name(id.name())?;
            let plain = section.compressed_file_range().ok()?.format == CompressionFormat::None;
            plain.then(|| section.data().ok())?
        };
        let load = |id| Ok::<_, gimli::Error>(EndianSlice::new(section(id).unwrap_or_default(), LittleEndian));
        let Ok(dwarf) = Dwarf::load(load) else {
            return Units::default();
        };
        let mut units = Units::default();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            // What cannot be read tells of no code.
            let _ = dwarf.unit(header).map(|unit| units.add(&dwarf, &unit));
        }
        units.ranges.sort_unstable();
        units
    }

    fn add<'a>(&mut self, dwarf: &Dwarf<Slice<'a>>, unit: &gimli::Unit<Slice<'a>>) -> Option<()> {
        let mut entries = unit.entries();
        let entry = entries.next_dfs().ok()??;
        let AttributeValue::Language(language) = entry.attr_value(gimli::DW_AT_language)? else {
            return None;
        };
        let text = |attribute| text(dwarf, unit, entry, attribute);
        let name = text(gimli::DW_AT_name).unwrap_or_default();
        let described = match language {
            gimli::DW_LANG_Rust => {
                let object = name.rsplit_once("/@/").map(|(_, object)| object);
                self.objects.extend(object.map(str::to_owned));
                let name = object.and_then(crate_of);
                Unit::Rust { name }
            }
            _ => {
                let folder = text(gimli::DW_AT_comp_dir).filter(|_| !name.starts_with('/'));
                let file = folder.map_or_else(|| name.clone(), |folder| format!("{folder}/{name}"));
                Unit::Other { file }
            }
        };
        let mut ranges = dwarf.unit_ranges(unit).ok()?;
        while let Ok(Some(range)) = ranges.next() {
            self.ranges.push((range.begin, range.end, self.all.len()));
        }
        self.all.push(described);
        Some(())
    }

    /// The unit that has the code at an address, and its number.
    pub fn at(&self, address: u64) -> Option<(usize, &Unit)> {
        let before = self.ranges.partition_point(|(start, ..)| *start <= address);
        let (_, end, index) = *self.ranges.get(before.checked_sub(1)?)?;
        (address < end).then_some((index, self.all.get(index)?))
    }
}

fn text<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &gimli::Unit<Slice<'a>>,
    entry: &DebuggingInformationEntry<Slice<'a>>,
    attribute: gimli::DwAt,
) -> Option<String> {
    let text = dwarf.attr_string(unit, entry.attr_value(attribute)?).ok()?;
    Some(text.to_string_lossy().into_owned())
}

/// The crate in the name of an object: `name.0123456789abcdef-cgu.0`.
pub fn crate_of(object: &str) -> Option<String> {
    let (name, rest) = object.split_once('.')?;
    rest.contains("-cgu.").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_in_names_of_objects() {
        assert_eq!(crate_of("made.0123456789abcdef-cgu.0").as_deref(), Some("made"));
        assert_eq!(crate_of("1vqz5k3ys4dhrqj2pe1p2onzh"), None);
        assert_eq!(crate_of("fast.c"), None);
    }
}
