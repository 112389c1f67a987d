//! Words for blocks that the explored program can no longer free.

use super::symbols::Symbols;
use super::trace::Mark;
use crate::failure::failure;
use dpor_explorer::Failure;
use dpor_explorer::keys::KeyMap;
use dpor_protocol::FailureKind;
use std::ops::Range;

/// Maximum number of places listed.
const SHOWN: usize = 10;

/// Blocks allocated at the same place.
struct Group {
    place: String,
    blocks: usize,
    bytes: usize,
}

/// The failure of an execution that leaves these blocks. `allocations` tells where blocks were allocated, if that is
/// known.
pub(crate) fn failure_of(leaked: &[Range<usize>], allocations: Option<&KeyMap<usize, Mark>>) -> Failure {
    failure(FailureKind::Leak, describe(leaked, allocations))
}

fn describe(leaked: &[Range<usize>], allocations: Option<&KeyMap<usize, Mark>>) -> String {
    let bytes: usize = leaked.iter().map(ExactSizeIterator::len).sum();
    let mut message = format!(
        "{} of the heap {} neither freed nor reachable when the test had ended",
        amount(leaked.len(), bytes),
        if leaked.len() == 1 { "is" } else { "are" }
    );
    let mut symbols = None;
    let mut groups: Vec<Group> = Vec::new();
    for block in leaked {
        // Known in a traced execution only.
        let Some(from) = allocations
            .and_then(|known| known.get(&block.start))
            .map(|mark| &mark.callers)
        else {
            continue;
        };
        let symbols = symbols.get_or_insert_with(Symbols::of_executable);
        let place = symbols
            .innermost_of_program(from)
            .unwrap_or_else(|| "code that has no symbols".to_owned());
        match groups.iter_mut().find(|group| group.place == place) {
            Some(group) => (group.blocks, group.bytes) = (group.blocks + 1, group.bytes + block.len()),
            None => groups.push(Group {
                place,
                blocks: 1,
                bytes: block.len(),
            }),
        }
    }
    for group in groups.iter().take(SHOWN) {
        message.push_str(&format!(
            "\n{}, allocated in {}",
            amount(group.blocks, group.bytes),
            group.place
        ));
    }
    if groups.len() > SHOWN {
        message.push_str(&format!("\nothers, allocated in {} more places", groups.len() - SHOWN));
    }
    message
}

fn amount(blocks: usize, bytes: usize) -> String {
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    format!("{blocks} block{} ({bytes} byte{})", plural(blocks), plural(bytes))
}
