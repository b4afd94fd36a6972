//! Kinds of a thing that anyone may add to, each under a name: window laws, queue disciplines, ways to lose packets.
//!
//! A [`Registry`] holds the [`Kind`]s of one trait `T`. The crate that defines the trait lists its own kinds when
//! it makes the registry; a program adds more with [`Registry::register`] before it reads a configuration that names
//! them. [`Chosen`] is what a configuration holds: the kind that was chosen, with its settings.
//!
//! With the feature `settings` a `Chosen` is read from a table with the key `kind`, or from the kind's name alone where
//! each of its settings has a default, and its JSON Schema lists all that is registered.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

#[cfg(feature = "settings")]
mod settings;
#[cfg(test)]
mod tests;
#[cfg(feature = "settings")]
mod way;

/// How many kinds were added by [`Registry::register`].
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// How many kinds the program has added so far, to all registries together. Whoever keeps what follows from the
/// registries makes it anew where this has grown.
pub fn registered() -> usize {
    REGISTERED.load(Ordering::Acquire)
}

/// A trait of which there are registered kinds.
pub trait Registered: fmt::Debug + Send + Sync + 'static {
    /// Where they are.
    fn registry() -> &'static Registry<Self>;

    /// What is wrong with the parameters of this one, if something is: a file that chooses it is refused with this.
    fn problem(&self) -> Option<String> {
        None
    }
}

/// One kind: its name, what it is, and how to make one.
pub struct Kind<T: ?Sized> {
    name: &'static str,
    meaning: &'static str,
    standard: Option<fn() -> Arc<T>>,
    #[cfg(feature = "settings")]
    settings: Option<way::Settings<T>>,
}

impl<T: ?Sized> Kind<T> {
    /// A kind called `name`. `meaning` is one sentence for help and documents.
    pub fn new(name: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            meaning,
            standard: None,
            #[cfg(feature = "settings")]
            settings: None,
        }
    }

    /// Lets it be chosen by its name alone.
    #[must_use]
    pub fn standard(mut self, make: fn() -> Arc<T>) -> Self {
        self.standard = Some(make);
        self
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in one sentence.
    pub fn meaning(&self) -> &'static str {
        self.meaning
    }
}

#[cfg(not(feature = "settings"))]
impl<T: ?Sized + 'static> Kind<T> {
    /// Lets it be chosen in files, with settings of type `S`: with the feature `settings`, and not without it.
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
            standard: self.standard,
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
    /// The setting of the first kind that a bare value stands for.
    short: Option<&'static str>,
}

impl<T: ?Sized> Registry<T> {
    /// A registry with the kinds that its own crate has. `what` names one in errors: "window law".
    pub fn new(what: &'static str, kinds: impl IntoIterator<Item = Kind<T>>) -> Self {
        Self {
            what,
            kinds: RwLock::new(kinds.into_iter().collect()),
            short: None,
        }
    }

    /// In files a bare value that is no name stands for the first kind, with this value of its setting `key`:
    /// `"50 packets"` for `{ kind = "droptail", limit = "50 packets" }`.
    #[must_use]
    pub fn short_for(mut self, key: &'static str) -> Self {
        self.short = Some(key);
        self
    }

    /// Adds a kind, for the rest of the process.
    ///
    /// # Errors
    /// [`NameTaken`] if there is one of this name.
    pub fn register(&self, kind: Kind<T>) -> Result<(), NameTaken> {
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        if kinds.iter().any(|known| known.name == kind.name) {
            return Err(NameTaken {
                what: self.what,
                name: kind.name,
            });
        }
        kinds.push(kind);
        REGISTERED.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Every kind that is registered now.
    pub fn kinds(&self) -> Vec<Kind<T>> {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        kinds.clone()
    }

    /// The kind called `name`, with its default settings.
    ///
    /// # Errors
    /// [`ChooseError`] if there is none, or if it has settings that must be given.
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

/// A kind that was chosen, with its settings.
pub struct Chosen<T: ?Sized> {
    kind: &'static str,
    model: Arc<T>,
    /// All of them, for whoever writes them down again.
    #[cfg(feature = "settings")]
    settings: serde_json::Map<String, serde_json::Value>,
}

impl<T: ?Sized> Chosen<T> {
    /// A model made by hand, under a name that need not be registered.
    pub fn of(kind: &'static str, model: Arc<T>) -> Self {
        Self {
            kind,
            model,
            #[cfg(feature = "settings")]
            settings: serde_json::Map::new(),
        }
    }

    /// The kind's name.
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

/// Two choices are equal if their kinds and settings are, as `Debug` shows them.
impl<T: ?Sized + fmt::Debug> PartialEq for Chosen<T> {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && (Arc::ptr_eq(&self.model, &other.model)
                || format!("{:?}", self.model) == format!("{:?}", other.model))
    }
}

/// A kind of this name is registered already.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NameTaken {
    what: &'static str,
    name: &'static str,
}

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, name } = self;
        write!(
            f,
            "there is a {what} called '{name}' already: choose another name"
        )
    }
}

impl std::error::Error for NameTaken {}

/// A kind cannot be chosen by this name.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ChooseError {
    /// None has the name.
    Unknown {
        /// What was looked for: "window law".
        what: &'static str,
        /// Its name.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// It has settings without a default.
    NeedsSettings {
        /// What was looked for.
        what: &'static str,
        /// Its name.
        name: &'static str,
    },
}

impl fmt::Display for ChooseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { what, name, known } => {
                write!(f, "there is no {what} '{name}': ")?;
                if let Some(nearest) = nearest(name, known.iter().copied()) {
                    write!(f, "did you mean '{nearest}'? ")?;
                }
                write!(f, "write one of {}", known.join(", "))
            }
            Self::NeedsSettings { what, name } => {
                write!(
                    f,
                    "the {what} '{name}' has settings without a default: its name alone does not choose it"
                )
            }
        }
    }
}

impl std::error::Error for ChooseError {}

/// The longest word for which a nearest one is looked for, bytes.
const LONGEST: usize = 120;

/// The one of `known` that `word` may have been meant to be: one letter in three may be wrong.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let far = |one: &&str| strsim::damerau_levenshtein(word, one);
    let nearest = known.min_by_key(far)?;
    let most = (word.chars().count() / 3).max(1);
    (far(&nearest) <= most).then_some(nearest)
}
