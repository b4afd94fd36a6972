//! Reports as one HTML page: everything that a reader needs is in the file itself.
//!
//! [`page`] shows papers beside what their runs say: an overview of the verdicts; then, for each
//! paper, its network, its tables as published | ours | difference, its figures redrawn, a verdict on
//! each claim, what the paper left out, and where every value of the scenarios comes from.
//!
//! [`experiment_page`] shows what the cells of a scenario file came to, along their axes.
//!
//! The page loads nothing and runs no script. Charts are SVG, twice: for wide pages and for
//! telephones, of which the style shows one. They are drawn here rather than by a chart library because
//! their colours come from the style (light, dark, print) and each point has a tooltip of its own.

mod chart;
mod contents;
mod document;
mod experiment;
mod export;
mod figure;
mod files;
mod glossary;
mod markup;
mod reported;
mod shell;
mod sources;
mod table;
mod text;
mod topology;
mod verdict;

pub use document::page;
pub use experiment::{PAGE, experiment_page, write_experiment};
pub use reported::{Reported, Tally};

#[cfg(test)]
mod tests;
