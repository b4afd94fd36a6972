//! Axes that nothing uses.

use crate::scenario::place::{Place, ScenarioError};
use crate::scenario::shorten::{QUOTED, shorten};

/// The name of an axis, where it is stated.
pub(super) type Declared = (String, Place);

/// Refuses an axis of `declared` that no placeholder in the files `texts` names.
pub(super) fn refuse_unused(declared: &[Declared], texts: &[&str]) -> Result<(), ScenarioError> {
    for (name, place) in declared {
        let forms = [format!("{{{name}}}"), format!("{{{name}.")];
        let is_used = |text: &&str| forms.iter().any(|form| text.contains(form.as_str()));
        if !texts.iter().any(is_used) {
            let name = shorten(name, QUOTED);
            let message = format!(
                "nothing uses the axis '{name}': write {{{name}}} into the name of a cell or into a value, or take the \
                 axis away"
            );
            return Err(ScenarioError::at(message, place));
        }
    }
    Ok(())
}
