//! A derive macro. Its tests run in the compiler's world, and those below `tests` in the checker's.

use proc_macro::{TokenStream, TokenTree};

/// Gives a type a function `name` that returns the type's name.
///
/// ```
/// #[derive(mixed_derive::Named)]
/// struct Account;
/// assert_eq!(Account::name(), "Account");
/// ```
#[proc_macro_derive(Named)]
pub fn named(item: TokenStream) -> TokenStream {
    let mut tokens = item.into_iter();
    tokens
        .by_ref()
        .take_while(|token| !is_keyword(&token.to_string()))
        .for_each(drop);
    match tokens.next() {
        Some(TokenTree::Ident(name)) => {
            let code = format!("impl {name} {{ pub fn name() -> &'static str {{ \"{name}\" }} }}");
            code.parse().expect("this is Rust")
        }
        _ => "compile_error!(\"only structs and enums have names\");"
            .parse()
            .expect("this is Rust"),
    }
}

fn is_keyword(word: &str) -> bool {
    word == "struct" || word == "enum"
}

#[cfg(test)]
mod tests {
    #[test]
    fn unions_have_no_names() {
        assert!(super::is_keyword("struct") && !super::is_keyword("union"));
    }
}
