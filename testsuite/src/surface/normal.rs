//! Signatures in a form in which equal ones are the same text.
//!
//! Paths are cut down to their last names, generics and lifetimes are numbered in the order in which they are met,
//! bounds are collected, one by one, as conditions, names of arguments are left out.

use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{
    FnArg, GenericParam, Generics, ImplItem, Item, ItemImpl, Lifetime, Path, QSelf, Token, TraitBound, Type,
    TypeParamBound, TypeTraitObject, WherePredicate,
};

/// The normal form of an implementation's header.
#[derive(Clone, Debug)]
pub struct Header {
    /// The whole.
    pub text: String,
    names: Names,
    self_type: Type,
}

/// A header `impl<…> Trait for Type where …`.
///
/// # Errors
/// If it is no such thing.
pub fn header(text: &str) -> Result<Header, String> {
    let mut parsed: ItemImpl = parse(text, &format!("{text} {{}}"))?;
    let mut names = Names::of(&parsed.generics);
    let negative = text.contains(" !") || text.contains(">!");
    if let Some((path, _)) = &mut parsed.trait_ {
        names.visit_path_mut(path);
    }
    names.visit_type_mut(&mut parsed.self_ty);
    let conditions = names.conditions(&parsed.generics);
    let of_trait = parsed.trait_.as_ref().map(|(path, _)| tokens(path)).unwrap_or_default();
    let self_type = tokens(&parsed.self_ty);
    let text = if negative {
        // rustdoc shows no conditions of those that the compiler finds.
        format!("not {of_trait} for {self_type}")
    } else {
        format!("{of_trait} for {self_type} where {conditions}")
    };
    Ok(Header {
        text,
        names,
        self_type: *parsed.self_ty,
    })
}

/// The name of the trait that is implemented.
///
/// # Errors
/// If the header is none.
pub fn trait_name(header: &str) -> Result<String, String> {
    let parsed: ItemImpl = parse(header, &format!("{header} {{}}"))?;
    let path = parsed.trait_.map(|(path, _)| path);
    let last = path.as_ref().and_then(|path| path.segments.last());
    Ok(last.map(|segment| segment.ident.to_string()).unwrap_or_default())
}

/// A function, constant or type in an implementation.
///
/// # Errors
/// If it is none of them.
pub fn member(of: &Header, text: &str) -> Result<String, String> {
    let mut names = of.names.clone();
    let body = if text.contains("fn ") { "{}" } else { ";" };
    let mut item: ImplItem = match parse(text, &format!("{text} {body}")) {
        // A constant whose value is not shown.
        Err(_) if text.contains("const ") => parse(text, &format!("{text} = ();"))?,
        parsed => parsed?,
    };
    SelfType(&of.self_type).visit_impl_item_mut(&mut item);
    Ok(match item {
        ImplItem::Fn(function) => self::function(&mut names, function.vis, function.sig),
        mut other => {
            names.visit_impl_item_mut(&mut other);
            tokens(&other)
        }
    })
}

/// An item's declaration.
///
/// # Errors
/// If it cannot be parsed.
pub fn declaration(kind: &str, text: &str) -> Result<String, String> {
    let mut names = Names::default();
    match kind {
        "macro" => Ok(String::new()),
        "fn" => match parse(text, &format!("{text} {{}}"))? {
            Item::Fn(function) => Ok(self::function(&mut names, function.vis, function.sig)),
            _ => Err(format!("no function: {text}")),
        },
        "constant" => {
            let text = text.split(" = ").next().unwrap_or(text).trim_end_matches(';');
            let mut item: Item = parse(text, &format!("{text} = ();"))?;
            names.visit_item_mut(&mut item);
            Ok(tokens(&item))
        }
        "struct" => {
            let shown = if text.ends_with('}') || text.ends_with(';') {
                text.to_string()
            } else {
                format!("{text};")
            };
            match parse(text, &shown)? {
                Item::Struct(mut item) => {
                    // Fields that are not shown are private.
                    item.fields = syn::Fields::Unit;
                    names = Names::of(&item.generics);
                    let generics = std::mem::take(&mut item.generics);
                    for parameter in &generics.params {
                        names.meet(parameter);
                    }
                    let conditions = names.conditions(&generics);
                    Ok(format!(
                        "{} of {} where {conditions}",
                        item.ident,
                        generics.params.len()
                    ))
                }
                _ => Err(format!("no struct: {text}")),
            }
        }
        "trait" => {
            // rustdoc puts headings between the members, and dots where a body is.
            let heading = regex::Regex::new("// (Required|Provided) (method|associated type|associated constant)s?");
            let members = heading.expect("the expression is valid").replace_all(text, "");
            let mut item: Item = parse(text, &members.replace("{ ... }", "{}"))?;
            names.visit_item_mut(&mut item);
            Ok(tokens(&item))
        }
        _ => {
            let mut item: Item = parse(text, text)?;
            names.visit_item_mut(&mut item);
            Ok(tokens(&item))
        }
    }
}

/// Text with its paths cut down to their last names.
pub fn short(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' || c == ':' {
            word.push(c);
            continue;
        }
        out.push_str(last_name(&word));
        word.clear();
        out.push(c);
    }
    out.push_str(last_name(&word));
    out.replace("( ", "(")
        .replace(", )", ")")
        .replace(",{", " {")
        .trim_end_matches(',')
        .to_string()
}

fn last_name(word: &str) -> &str {
    let roots = ["std::", "core::", "alloc::", "shim_std::"];
    if !roots.iter().any(|root| word.starts_with(root)) {
        return word;
    }
    // What follows a path may be a colon.
    let trimmed = word.trim_end_matches(':');
    let start = trimmed.rfind("::").map_or(0, |at| at + 2);
    &word[start..]
}

fn parse<T: syn::parse::Parse>(text: &str, completed: &str) -> Result<T, String> {
    syn::parse_str(completed).map_err(|error| format!("{error}: {text}"))
}

fn tokens(what: &impl ToTokens) -> String {
    what.to_token_stream().to_string()
}

fn function(names: &mut Names, vis: syn::Visibility, mut sig: syn::Signature) -> String {
    names.add(&sig.generics);
    for input in &mut sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                receiver.mutability = None;
                names.visit_receiver_mut(receiver);
            }
            FnArg::Typed(argument) => {
                *argument.pat = syn::parse_quote!(_);
                names.visit_type_mut(&mut argument.ty);
            }
        }
    }
    names.visit_return_type_mut(&mut sig.output);
    let generics = std::mem::take(&mut sig.generics);
    // What can be given by turbofish; lifetimes cannot be told apart from elided ones by most callers.
    let given: Vec<_> = generics
        .type_params()
        .map(|parameter| names.met(&parameter.ident.to_string()))
        .collect();
    let conditions = names.conditions(&generics);
    if sig.inputs.trailing_punct() {
        sig.inputs.pop_punct();
    }
    format!(
        "{} {} <{}> where {conditions}",
        tokens(&vis),
        tokens(&sig),
        given.join(", ")
    )
}

/// Generics and lifetimes, and their numbers.
#[derive(Clone, Debug, Default)]
struct Names {
    known: BTreeSet<String>,
    types: BTreeMap<String, usize>,
    lifetimes: BTreeMap<String, usize>,
}

impl Names {
    fn of(generics: &Generics) -> Names {
        let mut names = Names::default();
        names.add(generics);
        names
    }

    fn add(&mut self, generics: &Generics) {
        for parameter in &generics.params {
            match parameter {
                GenericParam::Type(parameter) => self.known.insert(parameter.ident.to_string()),
                GenericParam::Const(parameter) => self.known.insert(parameter.ident.to_string()),
                GenericParam::Lifetime(_) => false,
            };
        }
    }

    fn meet(&mut self, parameter: &GenericParam) {
        match parameter {
            GenericParam::Type(parameter) => drop(self.met(&parameter.ident.to_string())),
            GenericParam::Const(parameter) => drop(self.met(&parameter.ident.to_string())),
            GenericParam::Lifetime(parameter) => self.visit_lifetime_mut(&mut parameter.lifetime.clone()),
        }
    }

    /// The new name of a generic.
    fn met(&mut self, name: &str) -> String {
        let next = self.types.len();
        format!("T{}", self.types.entry(name.to_string()).or_insert(next))
    }

    /// The bounds of generics, one by one.
    fn conditions(&mut self, generics: &Generics) -> String {
        let mut conditions = BTreeSet::new();
        let mut predicates: Vec<WherePredicate> = Vec::new();
        for parameter in &generics.params {
            match parameter {
                GenericParam::Type(parameter) => {
                    let (name, bounds) = (&parameter.ident, &parameter.bounds);
                    if !bounds.is_empty() {
                        predicates.push(syn::parse_quote!(#name: #bounds));
                    }
                }
                GenericParam::Lifetime(parameter) => {
                    let (name, bounds) = (&parameter.lifetime, &parameter.bounds);
                    if !bounds.is_empty() {
                        predicates.push(syn::parse_quote!(#name: #bounds));
                    }
                }
                GenericParam::Const(_) => {}
            }
        }
        predicates.extend(
            generics
                .where_clause
                .iter()
                .flat_map(|clause| clause.predicates.clone()),
        );
        for mut predicate in predicates {
            self.visit_where_predicate_mut(&mut predicate);
            match &predicate {
                WherePredicate::Type(of) => {
                    for bound in &of.bounds {
                        conditions.insert(format!("{} : {}", tokens(&of.bounded_ty), tokens(bound)));
                    }
                }
                other => {
                    conditions.insert(tokens(other));
                }
            }
        }
        Vec::from_iter(conditions).join(" , ")
    }
}

impl VisitMut for Names {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        let name = lifetime.ident.to_string();
        if name == "static" {
            return;
        }
        let next = self.lifetimes.len();
        // An anonymous one is another one each time.
        let key = if name == "_" { format!("_{next}") } else { name };
        let number = *self.lifetimes.entry(key).or_insert(next);
        *lifetime = Lifetime::new(&format!("'l{number}"), lifetime.span());
    }

    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        path.leading_colon = None;
        if let Some(only) = path.get_ident().map(ToString::to_string)
            && self.known.contains(&only)
        {
            *path = syn::parse_str(&self.met(&only)).expect("a letter and a number are a path");
            return;
        }
        path.segments = keep_last(path, 1);
    }

    fn visit_type_path_mut(&mut self, path: &mut syn::TypePath) {
        if let Some(QSelf { ty, position, .. }) = &mut path.qself {
            self.visit_type_mut(ty);
            for segment in &mut path.path.segments {
                self.visit_path_segment_mut(segment);
            }
            path.path.segments = keep_last(&path.path, 2);
            *position = 1;
        } else {
            self.visit_path_mut(&mut path.path);
        }
    }

    fn visit_trait_bound_mut(&mut self, bound: &mut TraitBound) {
        if let Some(lifetimes) = &mut bound.lifetimes {
            self.visit_bound_lifetimes_mut(lifetimes);
        }
        self.visit_path_mut(&mut bound.path);
    }

    fn visit_type_trait_object_mut(&mut self, object: &mut TypeTraitObject) {
        visit_mut::visit_type_trait_object_mut(self, object);
        // What a box holds is `'static` if nothing else is said; rustdoc does not always say it.
        let bounds = std::mem::take(&mut object.bounds).into_iter();
        object.bounds = bounds
            .filter(|bound| !matches!(bound, TypeParamBound::Lifetime(lifetime) if lifetime.ident == "static"))
            .collect();
    }
}

fn keep_last(path: &Path, count: usize) -> Punctuated<syn::PathSegment, Token![::]> {
    let skipped = path.segments.len().saturating_sub(count);
    path.segments.iter().skip(skipped).cloned().collect()
}

/// Puts the type in the place of `Self`.
struct SelfType<'a>(&'a Type);

impl VisitMut for SelfType<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if matches!(ty, Type::Path(path) if path.qself.is_none() && path.path.is_ident("Self")) {
            *ty = self.0.clone();
        } else {
            visit_mut::visit_type_mut(self, ty);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_headers() {
        let same = [
            "impl<T: ?core::marker::Sized + Send> std::marker::Send for std::sync::Mutex<T>",
            "impl<U> Send for shim_std::sync::Mutex<U> where U: Send, U: ?Sized,",
        ];
        let [a, b] = same.map(|text| header(text).unwrap().text);
        assert_eq!(a, b);
        let other = header("impl<T: Send> Send for Mutex<T>").unwrap().text;
        assert_ne!(a, other);
        let negative = header("impl<T> !Send for MutexGuard<'_, T>").unwrap().text;
        assert_ne!(header("impl<'a, T> Send for MutexGuard<'a, T>").unwrap().text, negative);
        assert_eq!(
            header("impl<'a, T> !Send for MutexGuard<'a, T>").unwrap().text,
            negative
        );
    }

    #[test]
    fn equal_members() {
        let of = header("impl<T> std::sync::OnceLock<T>").unwrap();
        let same = [
            "pub fn get_or_init<F>(&self, f: F) -> &T where F: std::ops::FnOnce() -> T,",
            "pub fn get_or_init<G: FnOnce() -> T>(&self, init: G) -> &T",
        ];
        let [a, b] = same.map(|text| member(&of, text).unwrap());
        assert_eq!(a, b);
        for other in [
            "pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T",
            "pub fn get_or_init<F>(&self, f: F) -> &T where F: FnMut() -> T,",
            "pub const fn get_or_init<F>(&self, f: F) -> &T where F: FnOnce() -> T,",
            "pub unsafe fn get_or_init<F>(&self, f: F) -> &T where F: FnOnce() -> T,",
            "pub fn get_or_init<F>(&mut self, f: F) -> &T where F: FnOnce() -> T,",
        ] {
            assert_ne!(a, member(&of, other).unwrap(), "{other}");
        }
        assert_eq!(
            member(&of, "pub const fn new() -> Self").unwrap(),
            member(&of, "pub const fn new() -> std::sync::OnceLock<T>").unwrap()
        );
    }

    #[test]
    fn short_names() {
        assert_eq!(
            short("impl<T: std::fmt::Debug> std::fmt::Debug for std::sync::Mutex<T>"),
            "impl<T: Debug> Debug for Mutex<T>"
        );
    }
}
