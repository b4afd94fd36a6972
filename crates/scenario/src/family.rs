//! Families: files that extend others, cells that extend cells and parts, and cells along axes.
//!
//! 1. [`Sheet`] reads a file and the files that it extends. A name with placeholders stands for several cells; for each
//!    of them it keeps an [`Instance`](template::Instance): its name, and the values of its axes.
//! 2. [`Sheet::select`] returns the cells that are wanted.
//! 3. A [`Draft`] is one cell with all its layers: the bases of the files, what all cells extend, what the cell
//!    extends, and the cell itself. Each layer is filled in first, then its short forms are expanded, then it is laid
//!    over those below.
//! 4. [`flows`] makes the members of families of flows last, when all layers are in place.
//! 5. [`Families`] makes axes and groups available to other files: the claims, tables and figures of a paper.

mod axis;
mod draft;
mod expand;
mod families;
mod fill;
mod flows;
mod groups;
mod name;
mod pattern;
mod placeholder;
mod select;
mod sheet;
mod template;
mod unused;

pub(super) use draft::Draft;
pub use families::Families;
pub(super) use fill::Filling;
pub(super) use name::joined;
pub use name::{find_cell, plain, word};
pub use pattern::matches as matches_pattern;
pub(crate) use placeholder::literal;
pub(super) use sheet::{BASE, LONGEST_FILE, Sheet};
pub(super) use template::MOST_CELLS;
