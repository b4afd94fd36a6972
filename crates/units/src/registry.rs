//! Registries of named kinds that a program can extend: window laws, queue disciplines, loss models.
//!
//! A [`Registry`] holds the [`Kind`]s of one trait `T`. The crate that defines the trait lists its own kinds when it
//! creates the registry. A program adds more with [`Registry::register`] before it reads a configuration that names
//! them. A configuration holds a [`Chosen`]: the selected kind with its settings.
//!
//! With the feature `settings`, a `Chosen` is read from a table with the key `kind`. The name alone will do if each
//! setting of the kind has a default. The JSON Schema of a `Chosen` lists all registered kinds.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

#[cfg(feature = "settings")]
mod conversion;
#[cfg(feature = "settings")]
mod settings;
#[cfg(test)]
mod tests;

/// The number of kinds added by [`Registry::register`], and what else was registered.
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of kinds and CCIDs that the program has added to all registries so far.
///
/// A cache of something derived from the registries must be rebuilt when this number has grown.
pub fn registered() -> usize {
    REGISTERED.load(Ordering::Acquire)
}

/// Counts something that a registry of another form has added.
pub fn note_registration() {
    REGISTERED.fetch_add(1, Ordering::Release);
}

/// A trait whose implementations are registered as kinds.
pub trait Registered: fmt::Debug + Send + Sync + 'static {
    /// Returns the registry of this trait.
    fn registry() -> &'static Registry<Self>;

    /// Returns what is wrong with the parameters of this model, or `None` if they are valid.
    ///
    /// A file that selects a model with a problem is refused with this text.
    fn problem(&self) -> Option<String> {
        None
    }
}

/// Makes a model of a kind.
type Make<T> = Arc<dyn Fn() -> Arc<T> + Send + Sync>;

/// One kind: its name, its meaning and how to make a model of it.
pub struct Kind<T: ?Sized> {
    name: &'static str,
    meaning: &'static str,
    standard: Option<Make<T>>,
    #[cfg(feature = "settings")]
    settings: Option<conversion::Settings<T>>,
}

impl<T: ?Sized> Kind<T> {
    /// Creates a kind called `name`; `meaning` is one sentence for help and documents.
    pub fn new(name: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            meaning,
            standard: None,
            #[cfg(feature = "settings")]
            settings: None,
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the meaning, one sentence.
    pub fn meaning(&self) -> &'static str {
        self.meaning
    }
}

impl<T: ?Sized + 'static> Kind<T> {
    /// Lets the kind be chosen by its name alone; `make` makes the model.
    #[must_use]
    pub fn standard(self, make: fn() -> Arc<T>) -> Self {
        self.made_by(make)
    }

    /// Like [`standard`](Self::standard), with a closure that knows more than the kind's type.
    #[must_use]
    pub fn made_by(mut self, make: impl Fn() -> Arc<T> + Send + Sync + 'static) -> Self {
        self.standard = Some(Arc::new(make));
        self
    }
}

#[cfg(not(feature = "settings"))]
impl<T: ?Sized + 'static> Kind<T> {
    /// Lets the kind be chosen in files, with settings of type `S`.
    ///
    /// This needs the feature `settings`; without it this call does nothing.
    #[must_use]
    pub fn settings<S: 'static>(self, _make: fn(S) -> Arc<T>) -> Self {
        self
    }
}

impl<T: ?Sized> Clone for Kind<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name,
            meaning: self.meaning,
            standard: self.standard.clone(),
            #[cfg(feature = "settings")]
            settings: self.settings.clone(),
        }
    }
}

impl<T: ?Sized> fmt::Debug for Kind<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.meaning)
    }
}

/// All kinds of `T`, in the order in which they were registered.
#[derive(Debug)]
pub struct Registry<T: ?Sized> {
    what: &'static str,
    kinds: RwLock<Vec<Kind<T>>>,
    /// The setting of the first kind that a bare value in a file sets.
    short: Option<&'static str>,
}

impl<T: ?Sized> Registry<T> {
    /// Creates a registry with the kinds of its own crate; `what` is the word for one in errors, such as "window law".
    pub fn new(what: &'static str, kinds: impl IntoIterator<Item = Kind<T>>) -> Self {
        Self {
            what,
            kinds: RwLock::new(kinds.into_iter().collect()),
            short: None,
        }
    }

    /// Lets a bare value in a file stand for the first kind with this value as its setting `key`.
    ///
    /// The value must not look like a name. For example, `"50 packets"` stands for `{ kind = "droptail", limit = "50
    /// packets" }`.
    #[must_use]
    pub fn with_bare_key(mut self, key: &'static str) -> Self {
        self.short = Some(key);
        self
    }

    /// Adds a kind for the rest of the process.
    ///
    /// # Errors
    /// [`NameTaken`] if a kind of this name exists.
    pub fn register(&self, kind: Kind<T>) -> Result<(), NameTaken> {
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        if kinds.iter().any(|known| known.name == kind.name) {
            return Err(NameTaken {
                what: self.what,
                name: kind.name,
            });
        }
        kinds.push(kind);
        note_registration();
        Ok(())
    }

    /// Returns all kinds registered so far.
    pub fn kinds(&self) -> Vec<Kind<T>> {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        kinds.clone()
    }

    /// Returns the kind called `name` with its default settings.
    ///
    /// # Errors
    /// [`ChooseError`] if there is no such kind, or if it has settings without a default.
    pub fn choose(&self, name: &str) -> Result<Chosen<T>, ChooseError> {
        let kind = self.find(name)?;
        #[cfg(feature = "settings")]
        if let Some(Ok((model, settings))) = kind.of_defaults() {
            return Ok(Chosen {
                kind: kind.name,
                model,
                settings,
            });
        }
        let Some(standard) = kind.standard else {
            return Err(ChooseError::NeedsSettings {
                what: self.what,
                name: kind.name,
            });
        };
        Ok(Chosen {
            kind: kind.name,
            model: standard(),
            #[cfg(feature = "settings")]
            settings: serde_json::Map::new(),
        })
    }

    fn find(&self, name: &str) -> Result<Kind<T>, ChooseError> {
        let kinds = self.kinds();
        let found = kinds.iter().find(|kind| kind.name == name).cloned();
        found.ok_or_else(|| ChooseError::Unknown {
            what: self.what,
            name: name.to_owned(),
            known: kinds.iter().map(|kind| kind.name).collect(),
        })
    }
}

/// A selected kind with its settings.
pub struct Chosen<T: ?Sized> {
    kind: &'static str,
    model: Arc<T>,
    /// All settings, defaults included, for writing the choice to a file.
    #[cfg(feature = "settings")]
    settings: serde_json::Map<String, serde_json::Value>,
}

impl<T: ?Sized> Chosen<T> {
    /// Wraps a model made by the caller; the name `kind` need not be registered.
    pub fn of(kind: &'static str, model: Arc<T>) -> Self {
        Self {
            kind,
            model,
            #[cfg(feature = "settings")]
            settings: serde_json::Map::new(),
        }
    }

    /// Returns the name of the kind.
    pub fn kind(&self) -> &'static str {
        self.kind
    }
}

impl<T: ?Sized> std::ops::Deref for Chosen<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.model
    }
}

impl<T: ?Sized> Clone for Chosen<T> {
    fn clone(&self) -> Self {
        Self {
            kind: self.kind,
            model: Arc::clone(&self.model),
            #[cfg(feature = "settings")]
            settings: self.settings.clone(),
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Chosen<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.model.fmt(f)
    }
}

/// Two choices are equal if they have the same kind and the same model or the same `Debug` text of it.
impl<T: ?Sized + fmt::Debug> PartialEq for Chosen<T> {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && (Arc::ptr_eq(&self.model, &other.model)
                || format!("{:?}", self.model) == format!("{:?}", other.model))
    }
}

/// The error for registering a name that is taken.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the {what} '{name}' exists already: choose another name")]
pub struct NameTaken {
    what: &'static str,
    name: &'static str,
}

/// The error for a name by which no kind can be chosen.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// No kind has this name.
    #[error(
        "there is no {what} '{name}': {}write one of {}",
        hint(.name, .known),
        .known.join(", ")
    )]
    Unknown {
        /// The word for a kind, such as "window law".
        what: &'static str,
        /// The name that was asked for.
        name: String,
        /// The names of the registered kinds.
        known: Vec<&'static str>,
    },
    /// The kind has settings without a default.
    #[error("the {what} '{name}' needs settings: some have no default, so write a table with them")]
    NeedsSettings {
        /// The word for a kind.
        what: &'static str,
        /// The name of the kind.
        name: &'static str,
    },
}

/// Returns the part of a message that names a similar word, or nothing.
fn hint(word: &str, known: &[&str]) -> String {
    let nearest = nearest(word, known.iter().copied());
    nearest.map_or_else(String::new, |nearest| format!("did you mean '{nearest}'? "))
}

/// The longest word for which a similar one is searched, bytes.
const LONGEST: usize = 120;

/// Returns the word of `known` that `word` may be a misspelling of: at most one letter in three differs, or one of two.
///
/// Upper and lower case are the same. A single letter is like no other.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let lower = word.to_lowercase();
    let far = |one: &&str| strsim::damerau_levenshtein(&lower, &one.to_lowercase());
    let nearest = known.min_by_key(far)?;
    let most = match word.chars().count() {
        0 | 1 => 0,
        letters => (letters / 3).max(1),
    };
    (far(&nearest) <= most).then_some(nearest)
}
