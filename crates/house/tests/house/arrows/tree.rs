//! A crate as a tree of modules, with the names that each of them knows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Meta, UseTree, Visibility};

/// The number of a module in its [`Tree`]; the root is the first.
pub(crate) type ModuleId = usize;

/// What a name in a module means.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// A child module.
    Module(ModuleId),
    /// An item that the module itself defines.
    Defined,
    /// An alias of this path, relative to the module.
    Alias(Vec<String>),
}

/// A module, in its own file or inline.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) parent: Option<ModuleId>,
    /// Its file, relative to the crate's `src`.
    pub(crate) file: PathBuf,
    /// The names that it knows. A name may mean a module and a function.
    pub(crate) names: BTreeMap<String, Vec<Meaning>>,
    /// Paths from which it imports all names.
    pub(crate) globs: Vec<Vec<String>>,
    /// Paths that its code uses, including imports that are not re-exported.
    pub(crate) uses: Vec<Vec<String>>,
}

/// All modules of one library or program.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) modules: Vec<Module>,
}

/// Returns the text of a file, if the file exists.
type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

impl Tree {
    /// Reads the module in `root` and all modules below it.
    pub(crate) fn read(root: &Path, read: Read<'_>) -> Self {
        let mut tree = Self::default();
        let items = parse(root, read).expect("a crate has a root");
        tree.add(None, root, Path::new(""), items, read);
        tree
    }

    /// Adds a module of `file`; its children have their files in `folder`.
    fn add(
        &mut self,
        parent: Option<ModuleId>,
        file: &Path,
        folder: &Path,
        items: Vec<Item>,
        read: Read<'_>,
    ) -> ModuleId {
        let id = self.modules.len();
        self.modules.push(Module {
            parent,
            file: file.to_owned(),
            ..Module::default()
        });
        for item in items {
            match item {
                item if is_test(attributes(&item)) => {}
                Item::Mod(child) => self.add_child(id, file, folder, child, read),
                Item::Use(import) => self.modules[id].import(&import),
                item => self.modules[id].define(&item),
            }
        }
        id
    }

    fn add_child(
        &mut self,
        parent: ModuleId,
        file: &Path,
        folder: &Path,
        child: ItemMod,
        read: Read<'_>,
    ) {
        let name = child.ident.to_string();
        // This is the source of another crate, which is checked there.
        if child.attrs.iter().any(|a| a.path().is_ident("path")) {
            return;
        }
        let inner = folder.join(&name);
        let id = if let Some((_, items)) = child.content {
            self.add(Some(parent), file, &inner, items, read)
        } else {
            let files = [inner.with_extension("rs"), inner.join("mod.rs")];
            let Some((file, items)) = files
                .iter()
                .find_map(|file| Some((file, parse(file, read)?)))
            else {
                panic!("no file for mod {name} of {}", file.display());
            };
            self.add(Some(parent), file, &inner, items, read)
        };
        self.modules[parent].name(name, Meaning::Module(id));
    }
}

impl Module {
    fn name(&mut self, name: String, meaning: Meaning) {
        self.names.entry(name).or_default().push(meaning);
    }

    /// Records an item: the name that it defines, and the paths that it uses.
    fn define(&mut self, item: &Item) {
        let name = match item {
            Item::Const(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Fn(item) => Some(&item.sig.ident),
            Item::Macro(item) => item.ident.as_ref(),
            Item::Static(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        if let Some(name) = name {
            self.name(name.to_string(), Meaning::Defined);
        }
        self.visit_item(item);
    }

    /// Records an import.
    fn import(&mut self, import: &ItemUse) {
        // A `pub use` only re-exports names. A user of such a name depends on the file that defines it.
        let is_handed_on = !matches!(import.vis, Visibility::Inherited);
        for (name, path) in leaves(&import.tree) {
            if !is_handed_on {
                self.uses.push(path.clone());
            }
            match name {
                Some(name) => self.name(name, Meaning::Alias(path)),
                None => self.globs.push(path),
            }
        }
    }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|s| s.ident.to_string());
            self.uses.push(segments.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        // An import within a function.
        self.uses
            .extend(leaves(&import.tree).into_iter().map(|(_, path)| path));
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attributes = match item {
            syn::ImplItem::Const(item) => &item.attrs,
            syn::ImplItem::Fn(item) => &item.attrs,
            syn::ImplItem::Type(item) => &item.attrs,
            _ => return visit::visit_impl_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_impl_item(self, item);
        }
    }
}

/// Returns the names that an import brings, with the path of each. A glob has no name.
fn leaves(tree: &UseTree) -> Vec<(Option<String>, Vec<String>)> {
    fn walk(tree: &UseTree, at: &[String], found: &mut Vec<(Option<String>, Vec<String>)>) {
        let behind = |name: String| [at, &[name]].concat();
        match tree {
            UseTree::Path(path) => walk(&path.tree, &behind(path.ident.to_string()), found),
            UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, at, found)),
            UseTree::Glob(_) => found.push((None, at.to_vec())),
            UseTree::Name(name) if name.ident == "self" => {
                found.push((at.last().cloned(), at.to_vec()));
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                found.push((Some(name.clone()), behind(name)));
            }
            UseTree::Rename(both) => {
                let path = behind(both.ident.to_string());
                found.push((Some(both.rename.to_string()), path));
            }
        }
    }
    let mut found = Vec::new();
    walk(tree, &[], &mut found);
    found
}

fn parse(file: &Path, read: Read<'_>) -> Option<Vec<Item>> {
    let text = read(file)?;
    match syn::parse_file(&text) {
        Ok(parsed) => Some(parsed.items),
        Err(error) => panic!("{}: {error}", file.display()),
    }
}

/// Returns whether an item exists in tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test" || condition.starts_with("all (test")
        }
        _ => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
