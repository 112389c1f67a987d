//! The `test` and `global_allocator` attributes with which the facades replace the standard ones.
//!
//! Written without a parser: both are part of every compilation under `cargo dpor`, and need to know
//! little of what they stand on.

mod test;

use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// Makes a function a test that runs under the model.
///
/// ```text
/// <attributes> <signature of name> { body }
/// ```
/// becomes
/// ```text
/// #[::dpor_shim::__private::test]
/// <attributes of the test> <signature of name> {
///     <other attributes> <signature of name> { body }
///     ::dpor_shim::__private::run_test(
///         ::core::concat!(::core::module_path!(), "::", "name"),
///         <None | Some(None) | Some(Some("expected"))>, // from should_panic
///         name,
///     )
/// }
/// ```
/// with `dpor_shim`, which is what crates built by `cargo dpor` know `shim_std` as, holding in `__private`
/// ```text
/// pub use ::core::prelude::v1::test;
/// #[track_caller] // the location is the attribute's
/// pub fn run_test<T: Termination>(
///     name: &'static str,
///     should_panic: Option<Option<&'static str>>,
///     body: fn() -> T,
/// ) -> T;
/// ```
/// so that any type that a test may return will do: `()`, `Result`, `ExitCode`, `!`, `impl Termination`. `run_test`
/// returns what one plain call of the body returns, or does not return. What a test cannot be made of
/// is handed on to the real attribute, whose errors are the ones that users know.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    test::expand(arguments, item)
}

/// Keeps the static to which it is attached and registers no allocator: a test under the model allocates from the
/// scheduler's arena.
#[proc_macro_attribute]
pub fn global_allocator(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut out = attribute([path(&["allow"]), group(Delimiter::Parenthesis, path(&["dead_code"]))]);
    out.extend(item);
    out
}

/// Where emitted names are resolved: like those of `macro_rules!`, and in this crate's edition, in which a path that
/// begins with `::` begins with a crate.
fn site() -> Span {
    Span::mixed_site()
}

fn punct(character: char, spacing: Spacing) -> TokenTree {
    let mut punct = Punct::new(character, spacing);
    punct.set_span(site());
    punct.into()
}

/// The names with `::` between them; an empty first name makes the path begin with `::`.
fn path(names: &[&str]) -> TokenStream {
    let mut out = TokenStream::new();
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            out.extend([punct(':', Spacing::Joint), punct(':', Spacing::Alone)]);
        }
        if !name.is_empty() {
            out.extend([TokenTree::from(Ident::new(name, site()))]);
        }
    }
    out
}

fn group(delimiter: Delimiter, content: TokenStream) -> TokenStream {
    let mut group = Group::new(delimiter, content);
    group.set_span(site());
    TokenTree::from(group).into()
}

fn attribute(content: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    let mut out = TokenStream::from(punct('#', Spacing::Alone));
    out.extend(group(Delimiter::Bracket, content.into_iter().collect()));
    out
}
