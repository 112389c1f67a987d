//! A crate that compiles if, and only if, a standard library has what std has.
//!
//! Each stable function of the compared items is called by a function of the same signature (`const` and `unsafe`
//! included); each implementation of a trait is asked for under the same conditions, and auto traits that are not
//! implemented must not be. What compiles against std must compile against the facades. Besides, with the facades:
//! each item is the shim's or the real std's, as the table says, and the same in `core` and `alloc`.

use super::{Impl, Item, Surface};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use std::collections::BTreeSet;
use syn::visit_mut::{self, VisitMut};
use syn::{
    FnArg, GenericParam, Generics, ItemFn, ItemImpl, Lifetime, LifetimeParam, Path, ReceiverKind, ReturnType, Safety,
    Signature, Type, TypeReference,
};

/// Unstable items in signatures and headers of stable ones.
const UNSTABLE: [&str; 2] = ["std::bstr::", "std::clone::CloneToUninit"];

/// The source of the crate. `is_ours` says which items the shim redefines.
///
/// # Errors
/// The signature that is not understood.
pub fn source(std: &Surface, is_ours: impl Fn(&Item) -> bool) -> Result<String, String> {
    let mut probe = Probe {
        lines: vec![
            "//! Made by `dpor-testsuite`.".into(),
            "#![allow(ambiguous_glob_reexports, deprecated, dropping_copy_types, unused)]".into(),
            "#[cfg(dpor)] extern crate dpor_shim as shim_std;".into(),
            "extern crate alloc;".into(),
        ],
        unstable: &std.unstable_traits,
    };
    let mut modules = BTreeSet::new();
    for item in &std.items {
        let path = item.path();
        let number = probe.lines.len();
        let (name, module) = (&item.name, &item.module);
        let (origin, root) = if is_ours(item) {
            ("ours", "shim_std")
        } else {
            ("real", "shim_std::__std")
        };
        modules.insert((module.clone(), origin, root));
        let scope = module.replace("::", "_");
        probe.push(format!("#[cfg(dpor)] pub use {origin}_{scope}::{name} as i{number};"));
        for krate in &item.also_in {
            let krate = if krate == "core" { "core" } else { "alloc" };
            modules.insert((module.clone(), krate, krate));
            probe.push(format!("pub use {krate}_{scope}::{name} as i{number}_{krate};"));
        }
        if is_ours(item) {
            probe.item(item).map_err(|error| format!("{path}: {error}"))?;
        }
    }
    for (module, name, root) in modules {
        let scope = module.replace("::", "_");
        let condition = if root.starts_with("shim_std") {
            "#[cfg(dpor)] "
        } else {
            ""
        };
        let below = if module.is_empty() {
            String::new()
        } else {
            format!("::{module}")
        };
        // A name that two globs give to different things cannot be used.
        probe.push(format!(
            "{condition}mod {name}_{scope} {{ pub use std{below}::*; pub use {root}{below}::*; }}"
        ));
    }
    probe.push("#[test] fn surface() {}".into());
    Ok(probe.lines.join("\n") + "\n")
}

struct Probe<'a> {
    lines: Vec<String>,
    unstable: &'a [String],
}

impl Probe<'_> {
    fn push(&mut self, line: String) {
        self.lines.push(line);
    }

    /// Whether a signature can be written with stable items.
    fn can_be_written(&self, text: &str) -> bool {
        let unstable = self.unstable.iter().map(String::as_str);
        !unstable.chain(UNSTABLE).any(|path| text.contains(path))
    }

    fn item(&mut self, item: &Item) -> Result<(), String> {
        let path = format!("std::{}", item.path());
        match item.kind.as_str() {
            "fn" => {
                let function: ItemFn = parse(&format!("{} {{}}", item.declaration))?;
                let callee: Path = parse(&path)?;
                let tokens = self.function(&Generics::default(), None, function.sig, &quote!(#callee));
                self.push(tokens.to_string());
            }
            "constant" => {
                let declared = item.declaration.trim_end_matches(';');
                let shown: syn::ItemConst = parse(&format!("{declared} = ();"))?;
                let (ty, value): (_, Path) = (shown.ty, parse(&path)?);
                self.push(quote!(const _: #ty = #value;).to_string());
            }
            _ => {}
        }
        for each in &item.inherent {
            self.inherent(each)?;
        }
        for each in &item.traits {
            // Nobody can ask for `Drop`.
            if self.can_be_written(&each.header) && !each.header.contains("std::ops::Drop for") {
                self.implementation(each)?;
            }
        }
        Ok(())
    }

    fn inherent(&mut self, each: &Impl) -> Result<(), String> {
        for member in &each.members {
            if !self.can_be_written(&format!("{} {member}", each.header)) {
                continue;
            }
            let header = Header::parse(&each.header)?;
            let mut function: ItemFn = parse(&format!("{member} {{}}"))?;
            let (self_type, name) = (header.self_type, &function.sig.ident.clone());
            SelfType(&self_type).visit_signature_mut(&mut function.sig);
            let callee = quote!(<#self_type>::#name);
            let tokens = self.function(&header.generics, Some(&self_type), function.sig, &callee);
            self.push(tokens.to_string());
        }
        Ok(())
    }

    /// A function with this signature that calls `callee`.
    fn function(&self, outer: &Generics, of: Option<&Type>, mut sig: Signature, callee: &TokenStream) -> TokenStream {
        let mut generics = sig.generics.clone();
        let mut inputs = Vec::new();
        let mut arguments = Vec::new();
        for (number, input) in sig.inputs.iter().enumerate() {
            let name = format_ident!("a{number}");
            let ty = match input {
                FnArg::Typed(argument) => argument.ty.to_token_stream(),
                FnArg::Receiver(receiver) => match &receiver.kind {
                    ReceiverKind::Reference(_, lifetime, mutability) => {
                        let lifetime = lifetime.clone().unwrap_or_else(|| {
                            let own: Lifetime = syn::parse_quote!('this);
                            generics
                                .params
                                .insert(0, GenericParam::Lifetime(LifetimeParam::new(own.clone())));
                            own
                        });
                        Elided(&lifetime).visit_return_type_mut(&mut sig.output);
                        quote!(&#lifetime #mutability #of)
                    }
                    ReceiverKind::Typed(_, ty) => ty.to_token_stream(),
                    _ => of.to_token_stream(),
                },
            };
            inputs.push(quote!(#name: #ty));
            arguments.push(name);
        }
        let generics = merged(outer, &generics);
        let conditions = &generics.where_clause;
        let (constness, safety, output): (_, _, &ReturnType) = (&sig.constness, &sig.safety, &sig.output);
        let call = quote!(#callee(#(#arguments),*));
        let call = if matches!(safety, Safety::Unsafe(_)) {
            quote!(unsafe { #call })
        } else {
            call
        };
        let name = format_ident!("p{}", self.lines.len());
        quote!(pub #constness #safety fn #name #generics (#(#inputs),*) #output #conditions { #call })
    }

    /// A function that compiles if the implementation is there, or if it is absent for one that is.
    fn implementation(&mut self, each: &Impl) -> Result<(), String> {
        let header = Header::parse(&each.header)?;
        let (self_type, name) = (&header.self_type, format_ident!("p{}", self.lines.len()));
        let Some(of_trait) = &header.of_trait else {
            return Err(format!("no trait: {}", each.header));
        };
        if header.negative {
            let mut absent = self_type.clone();
            Concrete(&header.generics).visit_type_mut(&mut absent);
            let line = quote! {
                const _: () = {
                    trait Ambiguous<A> { fn item() {} }
                    impl<X: ?Sized> Ambiguous<()> for X {}
                    impl<X: ?Sized + #of_trait> Ambiguous<u8> for X {}
                    fn #name() { let _ = <#absent as Ambiguous<_>>::item; }
                };
            };
            self.push(line.to_string());
            return Ok(());
        }
        let mut of_trait = of_trait.clone();
        for member in &each.members {
            let ty: syn::ItemType = parse(&format!("{member};"))?;
            let (name, mut value) = (ty.ident, *ty.ty);
            SelfType(self_type).visit_type_mut(&mut value);
            let last = of_trait.segments.last_mut().expect("a trait has a name");
            if let syn::PathArguments::AngleBracketed(arguments) = &mut last.arguments {
                arguments.args.push(syn::parse_quote!(#name = #value));
            } else {
                last.arguments = syn::PathArguments::AngleBracketed(syn::parse_quote!(<#name = #value>));
            }
        }
        let generics = &header.generics;
        let mut asked = generics.clone();
        asked.params.push(syn::parse_quote!(Asked: ?Sized));
        asked
            .make_where_clause()
            .predicates
            .push(syn::parse_quote!(Asked: #of_trait));
        let (conditions, asked_conditions) = (&generics.where_clause, &asked.where_clause);
        let given = generics.params.iter().filter_map(|parameter| match parameter {
            GenericParam::Type(parameter) => Some(&parameter.ident),
            GenericParam::Const(parameter) => Some(&parameter.ident),
            GenericParam::Lifetime(_) => None,
        });
        let line = quote! {
            pub fn #name #generics (_: &#self_type) #conditions {
                fn is #asked (_: Option<&#self_type>) #asked_conditions {}
                is::<#(#given,)* #self_type>(None);
            }
        };
        self.push(line.to_string());
        Ok(())
    }
}

/// An implementation's header, anonymous lifetimes named.
struct Header {
    generics: Generics,
    of_trait: Option<Path>,
    self_type: Type,
    negative: bool,
}

impl Header {
    fn parse(text: &str) -> Result<Header, String> {
        let mut parsed: ItemImpl = parse(&format!("{text} {{}}"))?;
        let mut named = Named::default();
        if let Some((of_trait, _)) = &mut parsed.trait_ {
            named.visit_path_mut(of_trait);
        }
        named.visit_type_mut(&mut parsed.self_ty);
        let mut generics = parsed.generics;
        for lifetime in named.0 {
            let lifetime = GenericParam::Lifetime(LifetimeParam::new(lifetime));
            generics.params.insert(0, lifetime);
        }
        // The header implies that a type outlives a reference to it.
        let outlive = |lifetime: &LifetimeParam| {
            let (lifetime, types) = (lifetime.lifetime.clone(), generics.type_params());
            let bound = move |ty: &syn::TypeParam| -> syn::WherePredicate {
                let name = &ty.ident;
                syn::parse_quote!(#name: #lifetime)
            };
            types.map(bound).collect::<Vec<_>>()
        };
        let implied: Vec<_> = generics.lifetimes().flat_map(outlive).collect();
        if !implied.is_empty() {
            generics.make_where_clause().predicates.extend(implied);
        }
        Ok(Header {
            generics,
            of_trait: parsed.trait_.map(|(path, _)| path),
            self_type: *parsed.self_ty,
            negative: text.contains(" !"),
        })
    }
}

fn parse<T: syn::parse::Parse>(text: &str) -> Result<T, String> {
    syn::parse_str(text).map_err(|error| format!("{error}: {text}"))
}

/// Generics of two, lifetimes first.
fn merged(outer: &Generics, inner: &Generics) -> Generics {
    let mut all = outer.clone();
    all.params.extend(inner.params.clone());
    let (lifetimes, others): (Vec<_>, Vec<_>) = all
        .params
        .into_iter()
        .partition(|parameter| matches!(parameter, GenericParam::Lifetime(_)));
    all.params = lifetimes.into_iter().chain(others).collect();
    if let Some(conditions) = &inner.where_clause {
        all.make_where_clause().predicates.extend(conditions.predicates.clone());
    }
    all
}

/// Gives names to anonymous lifetimes.
#[derive(Default)]
struct Named(Vec<Lifetime>);

impl VisitMut for Named {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = Lifetime::new(&format!("'n{}", self.0.len()), lifetime.span());
            self.0.push(lifetime.clone());
        }
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        reference.lifetime.get_or_insert_with(|| syn::parse_quote!('_));
        visit_mut::visit_type_reference_mut(self, reference);
    }
}

/// Puts the receiver's lifetime where one is left out in the result.
struct Elided<'a>(&'a Lifetime);

impl VisitMut for Elided<'_> {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = self.0.clone();
        }
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        visit_mut::visit_type_reference_mut(self, reference);
        reference.lifetime.get_or_insert_with(|| self.0.clone());
    }
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

/// Puts types and lifetimes that meet all conditions in the places of generics.
struct Concrete<'a>(&'a Generics);

impl VisitMut for Concrete<'_> {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        *lifetime = syn::parse_quote!('static);
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        let parameter = self
            .0
            .type_params()
            .find(|parameter| matches!(ty, Type::Path(path) if path.path.is_ident(&parameter.ident)));
        match parameter {
            Some(_) => *ty = syn::parse_quote!(u8),
            None => visit_mut::visit_type_mut(self, ty),
        }
    }
}
