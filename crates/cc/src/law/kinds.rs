//! The window laws by name.

use std::sync::LazyLock;

use fairwire_units::registry::{ChooseError, Chosen, Kind, NameTaken, Registered, Registry};

use super::{Law, cubic, dctcp, newreno, threshold, vegas, veno};

/// What there is without anyone adding to it; the first is the default.
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

/// Adds a law, for the rest of the process: configurations that are read from now on may name it.
///
/// # Errors
/// [`NameTaken`] if there is one of this name.
pub fn register_law(kind: Kind<dyn Law>) -> Result<(), NameTaken> {
    <dyn Law>::registry().register(kind)
}

/// The law called `name`, with its default settings.
///
/// # Errors
/// [`ChooseError`] if there is none, or if it has settings that must be given.
pub fn law(name: &str) -> Result<Chosen<dyn Law>, ChooseError> {
    <dyn Law>::registry().choose(name)
}

/// Every law that is registered now.
pub fn laws() -> Vec<Kind<dyn Law>> {
    <dyn Law>::registry().kinds()
}

/// RFC 5681's law, which a connection has unless it is given another.
pub fn default_law() -> Chosen<dyn Law> {
    static DEFAULT: LazyLock<Chosen<dyn Law>> =
        LazyLock::new(|| law("newreno").expect("it is built in and has no settings"));
    DEFAULT.clone()
}
