//! Reports as one HTML page that loads no other file.
//!
//! [`page`] shows papers beside their results. It begins with what each paper asked and what our runs show. Each paper
//! then has its verdicts. Closed parts hold the rest: its network, its tables (published, ours, difference), its
//! figures, the reason for each verdict, what the paper left out, and the source of every value of the scenarios.
//!
//! [`experiment_page`] shows the results of the cells of a scenario file along their axes.
//!
//! The page runs no script. Each chart is drawn twice as SVG, for wide pages and for telephones; the style shows one of
//! the two. There is no chart library, because the colours come from the style (light, dark, print) and each point has
//! its own tooltip.

mod chart;
mod contents;
mod document;
mod experiment;
mod figure;
mod glossary;
mod markup;
mod overview;
mod shell;
mod sources;
mod table;
mod topology;
mod verdict;

pub use chart::Axis;
pub use document::{page, write, write_all};
pub use experiment::{Group, PAGE, experiment_page, plots, write_experiment};
