//! Figures: a drawing for wide pages, one for telephones, a legend, and the numbers.

use maud::{Markup, html};

use super::chart::{COLOURS, chart, marker};
use super::contents::figure_anchor;
use super::markup::{Frame, drawing, mean_and_interval, minus, paragraph};
use fairwire_paper::{Figure, Form, Point};

/// Returns a figure of the paper or run `owner`, with its heading.
pub(super) fn figure(owner: &str, figure: &Figure) -> Markup {
    let id = figure_anchor(owner, &figure.name);
    html! {
        section class="block" aria-labelledby=(id) {
            h4 id=(id) { (figure.title) }
            (paragraph("about", &figure.about))
            figure class="chart" {
                (drawing(|out| chart(out, figure, Frame::WIDE)))
                (drawing(|out| chart(out, figure, Frame::NARROW)))
                figcaption {
                    (legend(figure))
                    @if let Some(over) = figure.mean_over {
                        p class="small" {
                            "Each point is a mean over " ((over * 1e3 + 0.5).floor() / 1e3)
                            " s and over the seeds; the band is its 95 % interval."
                        }
                    }
                }
            }
            @if figure.mean_over.is_none() { (numbers(figure, &id)) }
        }
    }
}

/// Returns the drawing for telephones with its title, which is a link to the figure itself.
pub(super) fn small_figure(owner: &str, figure: &Figure) -> Markup {
    html! {
        figure class="chart small" {
            (drawing(|out| chart(out, figure, Frame::NARROW)))
            figcaption {
                p { a href={ "#" (figure_anchor(owner, &figure.name)) } { (figure.title) } }
                (legend(figure))
            }
        }
    }
}

fn legend(figure: &Figure) -> Markup {
    let points = || figure.lines.iter().flat_map(|line| &line.points);
    let is_series = figure.mean_over.is_some();
    let has_interval = |point: &Point| point.measured.and_then(|one| one.interval()).is_some();
    html! {
        ul class="legend" {
            @if figure.lines.len() > 1 || is_series {
                @for (number, line) in figure.lines.iter().enumerate() {
                    li {
                        (key(&html! {
                            g class={ "c" (number % COLOURS) } { (line_key(figure, number)) }
                        }))
                        " " (line.label)
                    }
                }
            }
            @if points().any(|point| point.published.is_some()) {
                li { (key(&printed_key(figure.form))) " hollow: printed in the paper" }
            }
            @if !is_series && points().any(has_interval) {
                li {
                    (key(&html! {
                        g class="ink" { path class="error" d="M14 1V11M10 1H18M10 11H18" {} }
                    }))
                    " 95 % interval"
                }
            }
        }
    }
}

/// Returns a small drawing for the legend.
fn key(shape: &Markup) -> Markup {
    html! { svg class="key" viewBox="0 0 28 12" aria-hidden="true" { (shape) } }
}

fn line_key(figure: &Figure, number: usize) -> Markup {
    let is_series = figure.mean_over.is_some();
    html! {
        @match figure.form {
            Form::Bar => { rect class="bar" x="6" y="1" width="16" height="10" {} }
            Form::Line => {
                path class=(if is_series { "ours series" } else { "ours" }) d="M1 6H27" {}
                @if !is_series {
                    (drawing(|out| marker(out, "full", number, (14.0, 6.0))))
                }
            }
        }
    }
}

fn printed_key(form: Form) -> Markup {
    html! {
        @match form {
            Form::Bar => { path class="over" d="M2 6h24M14 1l5 5l-5 5l-5 -5z" {} }
            Form::Line => {
                g class="ink" {
                    path class="printed" d="M1 6H27" {}
                    circle class="hollow" cx="14" cy="6" r="4" {}
                }
            }
        }
    }
}

/// Returns the values of a figure as a table, for readers who cannot see the drawing or need exact numbers.
fn numbers(figure: &Figure, id: &str) -> Markup {
    let places = figure.x.labels.len().max(figure.x.at.len());
    let label = |place: usize| {
        let number = || figure.x.at.get(place).map(minus);
        let label = figure.x.labels.get(place).cloned();
        label.or_else(number).unwrap_or_default()
    };
    html! {
        details {
            summary { "The numbers of this figure" }
            div class="scroll" role="region" tabindex="0" aria-labelledby=(id) {
                table class="figures" aria-labelledby=(id) {
                    thead {
                        tr {
                            th scope="col" { (figure.x.title) }
                            @for line in &figure.lines {
                                th scope="col" class="number" { (line.label) (comma_unit(figure)) }
                            }
                        }
                    }
                    tbody {
                        @for place in 0..places {
                            tr {
                                th scope="row" { (label(place)) }
                                @for line in &figure.lines {
                                    td class="number" {
                                        @if let Some(point) = line.points.get(place) {
                                            (self::point(point, figure))
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn comma_unit(figure: &Figure) -> String {
    let name = figure.y.unit.name;
    if name.is_empty() {
        String::new()
    } else {
        format!(", {name}")
    }
}

fn point(point: &Point, figure: &Figure) -> Markup {
    let ours = point
        .measured
        .map(|estimate| mean_and_interval(estimate, figure.y.unit.digits_of(estimate)));
    html! {
        @match ours {
            None => { "no value" }
            Some((mean, interval)) => { (mean) " " (interval) }
        }
        @if let Some(value) = point.published {
            " " small { "printed " (minus(value)) }
        }
    }
}
