//! Reading what rustdoc has written.
//!
//! Types are given by their full paths, which are the titles of their links.

use super::{Impl, Item, MACROS, MODULES, Surface};
use crate::tool;
use scraper::{ElementRef, Html, Selector};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Items that std's documentation shows as well, but that do not exist on Linux.
const OTHER_SYSTEMS: [&str; 2] = ["std::os::windows::", "std::os::wasi::"];

/// Modules of the shim in which nothing takes the place of std's item of the same name.
const BY_NAME_ONLY: [&str; 1] = ["cell"];

/// The build flags of the facades.
const FACADE: &str = "--cfg=dpor_facade";

/// The requested items of a library's documentation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// All.
    All,
    /// Those that are defined in this library, not shown in it only.
    Own,
}

/// The folder of std's documentation, if it is installed for the toolchain in use.
///
/// # Panics
/// If rustc cannot be asked where it is.
pub fn of_std() -> Option<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "sysroot"])
        .output()
        .expect("rustc can be started");
    let sysroot = String::from_utf8(output.stdout).expect("the sysroot's path is Unicode");
    let folder = Path::new(sysroot.trim()).join("share/doc/rust/html");
    folder.join("std/sync/struct.Mutex.html").is_file().then_some(folder)
}

/// The folder of std's documentation, for tests that need it: if it is installed, and of the version that the list is
/// of.
/// Otherwise it says why they are skipped.
///
/// # Panics
/// As [`of_std`].
pub fn of_listed_std() -> Option<PathBuf> {
    let Some(folder) = of_std() else {
        eprintln!("skipped: std's documentation is not installed (rustup component add rust-docs)");
        return None;
    };
    let version = version(&folder);
    if version.as_deref() != Some(super::VERSION) {
        eprintln!("skipped: the toolchain's std is {version:?}, not {}", super::VERSION);
        return None;
    }
    Some(folder)
}

/// The shim's surface, from the documentation that is made of it now, as it is in the facades.
///
/// # Errors
/// If it cannot be made, or read.
pub fn of_shim() -> Result<Surface, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = tool::target_folder().join("facade");
    let output = Command::new(cargo)
        .args([
            "doc",
            "--quiet",
            "--package",
            "dpor-shim-std",
            "--no-deps",
            "--target-dir",
        ])
        .arg(&target)
        .env("RUSTC_BOOTSTRAP", "shim_std")
        .env("CARGO_ENCODED_RUSTFLAGS", FACADE)
        .env("CARGO_ENCODED_RUSTDOCFLAGS", FACADE)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .map_err(|error| format!("cargo doc: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let mut surface = read(&target.join("doc"), "shim_std", Whose::Own)?;
    surface
        .items
        .retain(|item| !BY_NAME_ONLY.contains(&item.module.as_str()));
    Ok(surface)
}

/// The version of the library whose documentation this is, as `1.95`.
pub fn version(folder: &Path) -> Option<String> {
    let index = fs::read_to_string(folder.join("std/index.html")).ok()?;
    let page = Html::parse_document(&index);
    let version = text(page.select(&selector(".sidebar-crate .version")).next()?);
    Some(version.trim().rsplit_once('.')?.0.to_string())
}

/// The surface of a library: of its modules, the stable items; of `folder/krate`, what rustdoc has written.
///
/// # Errors
/// The page that cannot be read.
pub fn read(folder: &Path, krate: &str, whose: Whose) -> Result<Surface, String> {
    let mut reader = Reader {
        root: folder.join(krate),
        unstable: BTreeMap::new(),
    };
    let mut surface = Surface::default();
    for module in MODULES {
        surface.items.extend(reader.module(module, whose)?);
    }
    for name in MACROS {
        let page = reader.page(&format!("macro.{name}.html"))?;
        surface.items.push(Item {
            module: String::new(),
            name: name.into(),
            kind: "macro".into(),
            also_in: Vec::new(),
            declaration: declaration(&page).unwrap_or_default(),
            inherent: Vec::new(),
            traits: Vec::new(),
        });
    }
    let unstable = reader.unstable.into_iter().filter(|(_, unstable)| *unstable);
    surface.unstable_traits = unstable.map(|(name, _)| name).collect();
    Ok(surface)
}

struct Reader {
    /// The folder of the library.
    root: PathBuf,
    /// Whether traits are unstable, by their paths in the documentation.
    unstable: BTreeMap<String, bool>,
}

impl Reader {
    fn page(&self, name: &str) -> Result<Html, String> {
        let path = self.root.join(name);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Html::parse_document(&text))
    }

    fn module(&mut self, module: &str, whose: Whose) -> Result<Vec<Item>, String> {
        let folder = module.replace("::", "/");
        let index = format!("{folder}/index.html");
        // What is not there has nothing of its own.
        if whose == Whose::Own && !self.root.join(&index).is_file() {
            return Ok(Vec::new());
        }
        let page = self.page(&index)?;
        let mut items = Vec::new();
        for entry in page.select(&selector("dl.item-table > dt")) {
            let Some(link) = entry.select(&selector("a[title]")).next() else {
                continue;
            };
            let kind = link.attr("class").unwrap_or_default();
            let href = link.attr("href").unwrap_or_default();
            let unstable = entry.select(&selector(".stab.unstable")).next().is_some();
            if unstable || kind == "mod" || href.contains('/') {
                continue;
            }
            let page = self.page(&format!("{folder}/{href}"))?;
            let foreign = page
                .select(&selector(".sub-heading a.src"))
                .any(|source| source.attr("href").is_some_and(|href| href.starts_with("http")));
            if whose == Whose::Own && foreign {
                continue;
            }
            let below = ["core", "alloc"].into_iter().filter(|krate| {
                let page = self.root.with_file_name(krate).join(&folder).join(href);
                whose == Whose::All && page.is_file()
            });
            let mut item = Item {
                module: module.into(),
                name: text(link),
                kind: kind.into(),
                also_in: below.map(String::from).collect(),
                declaration: declaration(&page).ok_or_else(|| format!("{folder}/{href}: no declaration"))?,
                inherent: self.impls(&page, "#implementations-list"),
                traits: [
                    self.impls(&page, "#trait-implementations-list"),
                    self.impls(&page, "#synthetic-implementations-list"),
                ]
                .concat(),
            };
            if item.declaration.contains(ALLOCATOR) {
                use_global_allocator(&mut item);
            }
            items.push(item);
        }
        items.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(items)
    }

    /// The implementations in a part of the page.
    fn impls(&mut self, page: &Html, list: &str) -> Vec<Impl> {
        let Some(list) = page.select(&selector(list)).next() else {
            return Vec::new();
        };
        let mut impls = Vec::new();
        for section in list.select(&selector("section.impl")) {
            let header = header(section);
            let of_trait = trait_of(section);
            let elsewhere = OTHER_SYSTEMS.iter().any(|system| header.contains(system));
            if elsewhere || is_unstable(section) || of_trait.as_ref().is_some_and(|path| self.is_unstable_trait(path)) {
                continue;
            }
            // The section is the summary of the details that hold the items, if there are any.
            let details = section.parent().and_then(|summary| summary.parent());
            let details = details.and_then(ElementRef::wrap).filter(|element| {
                element.value().name() == "details" && element.value().classes().any(|c| c == "implementors-toggle")
            });
            let mut members = Vec::new();
            if let Some(details) = details {
                let wanted = if of_trait.is_some() {
                    "section.associatedtype"
                } else {
                    "section.method, section.associatedconstant, section.associatedtype"
                };
                for member in details.select(&selector(wanted)) {
                    if !is_unstable(member) {
                        members.push(self::header(member));
                    }
                }
                if of_trait.is_none() && members.is_empty() {
                    continue;
                }
            }
            impls.push(Impl { header, members });
        }
        impls
    }

    fn is_unstable_trait(&mut self, path: &str) -> bool {
        if let Some(known) = self.unstable.get(path) {
            return *known;
        }
        let (module, name) = path.rsplit_once("::").unwrap_or(("", path));
        let module = module.split_once("::").map_or("", |(_, module)| module);
        let page = self.page(&format!("{}/trait.{name}.html", module.replace("::", "/")));
        let unstable = page.is_ok_and(|page| {
            let notice = selector("#main-content > .item-info .stab.unstable");
            page.select(&notice).next().is_some()
        });
        self.unstable.insert(path.to_string(), unstable);
        unstable
    }
}

/// A parameter that stable code cannot give.
const ALLOCATOR: &str = ", A = std::alloc::Global";

/// Makes an item that has an allocator one that has the global allocator: all of it that is stable.
fn use_global_allocator(item: &mut Item) {
    fn replaced(text: &str) -> String {
        let (head, conditions) = text.split_once(" where ").unwrap_or((text, ""));
        let mut head = head
            .replace(ALLOCATOR, "")
            .replace(", A>", ">")
            .replace("impl<A>", "impl");
        let (conditions, body) = conditions
            .split_once('{')
            .map_or((conditions, ""), |(conditions, _)| (conditions, " { }"));
        let kept: Vec<_> = conditions
            .split(", ")
            .map(|condition| condition.trim_end_matches(','))
            .filter(|condition| !condition.is_empty() && !condition.starts_with("A: "))
            .collect();
        if !kept.is_empty() {
            head = format!("{head} where {}", kept.join(", "));
        }
        head + body
    }
    item.declaration = replaced(&item.declaration);
    for each in item.inherent.iter_mut().chain(&mut item.traits) {
        each.header = replaced(&each.header);
        for member in &mut each.members {
            *member = replaced(member);
        }
    }
}

fn selector(text: &str) -> Selector {
    Selector::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn text(element: ElementRef) -> String {
    element.text().collect()
}

/// Whether a notice that something is unstable follows a section.
fn is_unstable(section: ElementRef) -> bool {
    let next = section.next_siblings().find_map(ElementRef::wrap);
    next.is_some_and(|next| {
        next.value().classes().any(|class| class == "item-info")
            && next.select(&selector(".stab.unstable")).next().is_some()
    })
}

/// The code of a section, in one line.
fn header(section: ElementRef) -> String {
    section
        .select(&selector(".code-header"))
        .next()
        .map(code)
        .unwrap_or_default()
}

/// The trait of an implementation: the last link before `for`.
fn trait_of(section: ElementRef) -> Option<String> {
    let header = header(section);
    let parsed = syn::parse_str::<syn::ItemImpl>(&format!("{header} {{}}")).ok()?;
    let (path, _) = parsed.trait_?;
    let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    Some(names.join("::"))
}

fn declaration(page: &Html) -> Option<String> {
    page.select(&selector("pre.item-decl > code")).next().map(code)
}

/// Code in one line, types with their full paths, attributes and comments left out.
fn code(element: ElementRef) -> String {
    fn collect(element: ElementRef, out: &mut String) {
        for child in element.children() {
            if let Some(text) = child.value().as_text() {
                out.push_str(text);
            } else if let Some(child) = ElementRef::wrap(child) {
                let classes: Vec<_> = child.value().classes().collect();
                let named =
                    ["struct", "enum", "union", "trait", "type"].contains(&classes.first().copied().unwrap_or(""));
                match child.attr("title").and_then(|title| title.split_once(' ')) {
                    Some((_, path)) if named => out.push_str(path),
                    _ if classes.contains(&"code-attribute")
                        || classes.contains(&"comment")
                        || classes.contains(&"tooltip") => {}
                    _ if child.value().name() == "summary" => {}
                    _ => {
                        if child.value().name() == "div" {
                            out.push(' ');
                        }
                        collect(child, out);
                    }
                }
            }
        }
    }
    let mut out = String::new();
    collect(element, &mut out);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}
