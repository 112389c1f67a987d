//! The expansion of `#[test]`.

use crate::{attribute, group, path, punct, site};
use proc_macro::{Delimiter, Group, Ident, Literal, Spacing, TokenStream, TokenTree};

/// Attributes that concern the test or the whole function, and stay outside. Others may be macros, whose code is part
/// of what the test does.
const OUTSIDE: [&str; 14] = [
    "should_panic",
    "ignore",
    "cfg",
    "doc",
    "allow",
    "warn",
    "deny",
    "forbid",
    "expect",
    "deprecated",
    "must_use",
    "rustfmt",
    "clippy",
    "diagnostic",
];

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut real = path(&["", "dpor_shim", "__private", "test"]);
    if !arguments.is_empty() {
        real.extend(group(Delimiter::Parenthesis, arguments));
    }
    let mut out = attribute([real]);
    match Function::parse(&flat(item.clone())) {
        Some(function) => out.extend(function.wrapped()),
        None => out.extend(item),
    }
    out
}

/// The parts of a function without parameters.
struct Function {
    outside: Vec<TokenTree>,
    inside: Vec<TokenTree>,
    visibility: Vec<TokenTree>,
    /// `unsafe` and `extern "C"`. A `const` function need not be `const` as a test.
    qualifiers: Vec<TokenTree>,
    /// From `fn` to just before the body.
    signature: Vec<TokenTree>,
    name: Ident,
    body: Group,
    should_panic: TokenStream,
}

impl Function {
    /// `None` for anything that is not such a function.
    fn parse(mut tokens: &[TokenTree]) -> Option<Self> {
        let (mut outside, mut inside, mut should_panic) = (Vec::new(), Vec::new(), none());
        while let [hash, TokenTree::Group(content), rest @ ..] = tokens
            && is_punct(hash, '#')
        {
            let attribute = flat(content.stream());
            should_panic = expectation(&attribute).unwrap_or(should_panic);
            let side = if stays_outside(&attribute) {
                &mut outside
            } else {
                &mut inside
            };
            side.extend_from_slice(&tokens[..2]);
            tokens = rest;
        }
        let (TokenTree::Group(body), head) = tokens.split_last()? else {
            return None;
        };
        let (before, signature) = head.split_at(head.iter().position(|token| is_ident(token, "fn"))?);
        let qualified = before
            .iter()
            .position(|t| ["const", "unsafe", "extern", "async"].iter().any(|q| is_ident(t, q)));
        let (visibility, qualifiers) = before.split_at(qualified.unwrap_or(before.len()));
        let TokenTree::Ident(name) = signature.get(1)? else {
            return None;
        };
        let parameters = signature
            .iter()
            .position(|token| is_group(token, Delimiter::Parenthesis))?;
        let TokenTree::Group(parameter_list) = &signature[parameters] else {
            return None;
        };
        // `fn f<'a>()` and `fn f<>()`, which macros make, are tests as well.
        let generic = parameters > 2 && !is_punct(&signature[3], '\'') && !is_punct(&signature[3], '>');
        let synchronous = qualifiers.iter().all(|token| !is_ident(token, "async"));
        let testable = parameter_list.stream().is_empty() && !generic && synchronous;
        (body.delimiter() == Delimiter::Brace && testable).then(|| Function {
            outside,
            inside,
            visibility: visibility.to_vec(),
            qualifiers: qualifiers
                .iter()
                .filter(|token| !is_ident(token, "const"))
                .cloned()
                .collect(),
            signature: signature.to_vec(),
            name: name.clone(),
            body: body.clone(),
            should_panic,
        })
    }

    fn wrapped(self) -> TokenStream {
        let inner = [self.inside, self.signature.clone(), vec![self.body.clone().into()]].concat();
        let mut content: TokenStream = inner.into_iter().collect();

        // Where the compiler complains, of a return type for example, it points at the function's name.
        let span = site().located_at(self.name.span());
        let bare_name = self.name.to_string();
        let bare_name = bare_name.strip_prefix("r#").unwrap_or(&bare_name);
        let module_path = invocation("module_path", TokenStream::new());
        let full_name = invocation("concat", list([module_path, literal("::"), literal(bare_name)]));
        let arguments = list([full_name, self.should_panic, TokenTree::from(self.name).into()]);
        let mut call = path(&["", "dpor_shim", "__private", "run_test"]);
        call.extend(group(Delimiter::Parenthesis, arguments));
        content.extend(call.into_iter().map(|mut token| {
            token.set_span(span);
            token
        }));

        let mut body = Group::new(Delimiter::Brace, content);
        body.set_span(self.body.span());
        let outer = [
            self.outside,
            self.visibility,
            self.qualifiers,
            self.signature,
            vec![body.into()],
        ]
        .concat();
        outer.into_iter().collect()
    }
}

/// The tokens without the invisible groups in which `macro_rules!` puts its arguments.
fn flat(tokens: TokenStream) -> Vec<TokenTree> {
    let mut out = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => out.extend(flat(group.stream())),
            other => out.push(other),
        }
    }
    out
}

fn stays_outside(attribute: &[TokenTree]) -> bool {
    match attribute {
        [name, rest @ ..] if is_ident(name, "cfg_attr") => {
            let mentions = |word| {
                rest.iter()
                    .any(|t| matches!(t, TokenTree::Group(g) if mentions(g, word)))
            };
            mentions("ignore") || mentions("should_panic")
        }
        [name, ..] => OUTSIDE.iter().any(|known| is_ident(name, known)),
        [] => true,
    }
}

fn mentions(group: &Group, word: &str) -> bool {
    flat(group.stream()).iter().any(|token| is_ident(token, word))
}

/// The expectation that `should_panic` expresses to the model, if this is that attribute.
fn expectation(attribute: &[TokenTree]) -> Option<TokenStream> {
    match attribute.split_first()? {
        (name, rest) if is_ident(name, "should_panic") => Some(match rest {
            [equals, value @ ..] if is_punct(equals, '=') => some(some(value.iter().cloned().collect())),
            [TokenTree::Group(content)] => match &flat(content.stream())[..] {
                [key, equals, value, ..] if is_ident(key, "expected") && is_punct(equals, '=') => {
                    some(some(value.clone().into()))
                }
                _ => some(none()),
            },
            _ => some(none()),
        }),
        _ => None,
    }
}

fn none() -> TokenStream {
    path(&["", "core", "option", "Option", "None"])
}

fn some(value: TokenStream) -> TokenStream {
    let mut out = path(&["", "core", "option", "Option", "Some"]);
    out.extend(group(Delimiter::Parenthesis, value));
    out
}

fn invocation(name: &str, arguments: TokenStream) -> TokenStream {
    let mut out = path(&["", "core", name]);
    out.extend([punct('!', Spacing::Alone)]);
    out.extend(group(Delimiter::Parenthesis, arguments));
    out
}

fn literal(text: &str) -> TokenStream {
    let mut literal = Literal::string(text);
    literal.set_span(site());
    TokenTree::from(literal).into()
}

fn list(items: impl IntoIterator<Item = TokenStream>) -> TokenStream {
    items
        .into_iter()
        .flat_map(|item| [item, punct(',', Spacing::Alone).into()])
        .collect()
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == name)
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter)
}
