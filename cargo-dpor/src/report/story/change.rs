//! The change of a value by a step, in as few words as possible.

/// `0 → 1`; for two values with the same fields, only those that differ: `{ count: 0 → 1, .. }`.
pub fn change(before: &str, after: &str) -> String {
    let whole = || format!("{before} → {after}");
    let (Some((head, first)), Some((other, second))) = (fields(before), fields(after)) else {
        return whole();
    };
    let names = |fields: &[(&str, &str)]| fields.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    if head != other || names(&first) != names(&second) {
        return whole();
    }
    let differing = first.iter().zip(&second).filter(|((_, one), (_, other))| one != other);
    let mut parts: Vec<String> = differing
        .map(|((name, one), (_, other))| format!("{name}: {}", change(one, other)))
        .collect();
    if parts.is_empty() {
        return whole();
    }
    if parts.len() < first.len() {
        parts.push("..".into());
    }
    format!("{{ {} }}", parts.join(", "))
}

/// The fields of `Name { field: value, .. }`, and the name.
fn fields(text: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let (head, inside) = text.strip_suffix(" }")?.split_once(" { ")?;
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    head.chars().all(is_name).then_some(())?;
    let field = |part| match part {
        ".." => Some(("..", "")),
        part => str::split_once(part, ": ").filter(|(name, _)| name.chars().all(is_name)),
    };
    Some((head, parts(inside)?.into_iter().map(field).collect::<Option<_>>()?))
}

/// The parts between commas that are in no brackets and no quotes.
fn parts(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0u32, 0);
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => {
                chars.next();
            }
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.checked_sub(1)?,
            (None, ',') if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            (None, _) => {}
        }
    }
    parts.push(text[start..].trim());
    (depth == 0 && quote.is_none()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::change;

    #[test]
    fn of_values_with_the_same_fields_those_that_differ_are_told() {
        assert_eq!(change("0", "1"), "0 → 1");
        assert_eq!(change("Idle", "Working { jobs: 2 }"), "Idle → Working { jobs: 2 }");
        assert_eq!(change("Working { jobs: 1 }", "Working { jobs: 2 }"), "{ jobs: 1 → 2 }");
        assert_eq!(
            change(
                "Account { id: 3, rate: -1.5, open: true }",
                "Account { id: 3, rate: 0.5, open: false }"
            ),
            "{ rate: -1.5 → 0.5, open: true → false, .. }"
        );
        assert_eq!(
            change(
                "A { b: B { c: [1, 2], d: \"}, x: \\\"\" }, .. }",
                "A { b: B { c: [1], d: \"}, x: \\\"\" }, .. }"
            ),
            "{ b: { c: [1, 2] → [1], .. }, .. }"
        );
        assert_eq!(change("A { b: 1 }", "B { b: 2 }"), "A { b: 1 } → B { b: 2 }");
        assert_eq!(change("A { b: 1 }", "A { c: 1 }"), "A { b: 1 } → A { c: 1 }");
        assert_eq!(change("… }", "A { b"), "… } → A { b");
    }
}
