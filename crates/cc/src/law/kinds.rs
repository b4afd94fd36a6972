//! The window laws by name.

use std::sync::LazyLock;

use fairwire_units::registry::{ChooseError, Chosen, Kind, NameTaken, Registered, Registry};

use super::{Law, cubic, dctcp, newreno, threshold, vegas, veno};

/// Returns the built-in laws; the first is the default.
fn built_in() -> impl IntoIterator<Item = Kind<dyn Law>> {
    [
        newreno::kind(),
        threshold::kind(),
        vegas::kind(),
        veno::kind(),
        cubic::kind(),
        cubic::kind_8312(),
        dctcp::kind(),
    ]
}

impl Registered for dyn Law {
    fn registry() -> &'static Registry<Self> {
        static ALL: LazyLock<Registry<dyn Law>> =
            LazyLock::new(|| Registry::new("window law", built_in()));
        &ALL
    }

    fn problem(&self) -> Option<String> {
        Law::problem(self).map(str::to_owned)
    }
}

/// Adds a law for the rest of the process; configurations read from then on may name it.
///
/// # Errors
/// [`NameTaken`] if a law of this name exists.
pub fn register_law(kind: Kind<dyn Law>) -> Result<(), NameTaken> {
    <dyn Law>::registry().register(kind)
}

/// Returns the law called `name` with its default settings.
///
/// # Errors
/// [`ChooseError`] if there is no such law, or if it has settings without a default.
pub fn law(name: &str) -> Result<Chosen<dyn Law>, ChooseError> {
    <dyn Law>::registry().choose(name)
}

/// Returns all laws registered so far.
pub fn laws() -> Vec<Kind<dyn Law>> {
    <dyn Law>::registry().kinds()
}

/// Returns the default law of a connection, that of RFC 5681.
pub fn default_law() -> Chosen<dyn Law> {
    static DEFAULT: LazyLock<Chosen<dyn Law>> =
        LazyLock::new(|| law("newreno").expect("it is built in and has no settings"));
    DEFAULT.clone()
}
