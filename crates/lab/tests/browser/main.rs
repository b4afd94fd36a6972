//! The report in a real browser: Chromium, at the width of a desk and as a telephone of 390 pixels.
//!
//! The page shows every paper of the catalogue with made-up numbers, so that nothing has to be simulated:
//! what is tried here is how it looks. Without Chromium the tests say that they are skipped; with
//! `FAIRWIRE_NO_SKIP=1` that is a failure (`scripts/setup` installs it).

mod chromium;
mod made_up;

use std::path::PathBuf;

use chromium::{Chromium, Screen};
use fairwire_lab::paper::{Paper, Reported, catalogue};
use fairwire_lab::report;
use serde_json::Value;

/// What is wrong with how a page lies in its window: a list of sentences.
const LAYOUT: &str = include_str!("layout.js");

/// The report on all papers, and on each alone.
fn pages() -> Vec<(String, String)> {
    let papers: Vec<Paper> = catalogue()
        .iter()
        .map(|bundle| Paper::load(bundle, &Paper::adjust(true, None)))
        .map(|paper| paper.unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let reported: Vec<Reported<'_>> = papers
        .iter()
        .map(|paper| Reported {
            paper,
            report: paper.report(&made_up::results(paper)),
        })
        .collect();
    let mut pages: Vec<(String, String)> = reported
        .iter()
        .map(|one| {
            let page = report::page(std::slice::from_ref(one));
            (one.paper.name.clone(), page)
        })
        .collect();
    // At least two, so that there is an overview.
    let all: Vec<Reported<'_>> = reported
        .iter()
        .chain(&reported)
        .take(reported.len().max(2))
        .cloned()
        .collect();
    pages.push(("all".to_owned(), report::page(&all)));
    pages
}

fn file(name: &str, page: &str) -> PathBuf {
    let name = format!("fairwire-page-{name}-{}.html", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, page).expect("a file");
    path
}

/// Chromium, or `None` where there is none and that may be so.
fn browser() -> Option<Chromium> {
    let found = Chromium::start();
    if found.is_none() {
        let strict = std::env::var_os("FAIRWIRE_NO_SKIP").is_some_and(|value| value == "1");
        assert!(
            !strict,
            "FAIRWIRE_NO_SKIP=1: Chromium is missing (scripts/setup installs it)"
        );
        eprintln!("skipped: Chromium is missing (Debian: apt-get install chromium)");
    }
    found
}

/// Every report fits its window on a desk, on a telephone and on paper, whether details are open or closed:
/// nothing sticks out, nothing is cut, nothing scrolls sideways but tables in their own frames. It asks
/// the network for nothing, and the console stays silent.
#[test]
fn reports_fit_every_window() {
    let Some(mut browser) = browser() else {
        return;
    };
    for (name, page) in pages() {
        let path = file(&name, &page);
        for screen in [
            Screen::DESK,
            Screen::TELEPHONE,
            Screen::TELEPHONE_AT_NIGHT,
            Screen::PAPER,
        ] {
            let mut tab = browser.open(screen, &path);
            for open in ["false", "true"] {
                let script = format!(
                    "document.querySelectorAll('details').forEach(d => d.open = {open}); {LAYOUT}"
                );
                let Value::Array(faults) = tab.evaluate(&script) else {
                    panic!("{name}: no list of faults");
                };
                let first: Vec<String> = faults.iter().take(8).map(ToString::to_string).collect();
                assert!(
                    faults.is_empty(),
                    "{name} on {screen:?}, details open: {open}: {} faults\n{}",
                    faults.len(),
                    first.join("\n")
                );
            }
            let heard = tab.close();
            assert_eq!(
                heard.requests,
                Vec::<String>::new(),
                "{name} asks for something"
            );
            assert_eq!(heard.complaints, Vec::<String>::new(), "{name} makes noise");
        }
        std::fs::remove_file(&path).expect("removed");
    }
}

/// The test above would notice: a page with an element that is too wide, one that is crushed, text that leaves its
/// drawing, a picture from elsewhere and an error on the console is found wrong in all five ways.
#[test]
fn faults_are_found() {
    let Some(mut browser) = browser() else {
        return;
    };
    let page = "<!doctype html><html lang=\"en\"><head><meta name=\"viewport\" content=\"width=device-width\"><title>x</title></head>\
        <body><div id=\"wide\" style=\"width:700px\">wide</div>\
        <p style=\"width:20px\">crushed words that no one can read</p>\
        <svg viewBox=\"0 0 100 20\" width=\"100\"><text x=\"90\" y=\"15\">much too long</text></svg>\
        <img src=\"http://127.0.0.1:9/x.png\" alt=\"\"><script>console.error('no')</script></body></html>";
    let path = file("faulty", page);
    let mut tab = browser.open(Screen::TELEPHONE, &path);
    let faults = tab.evaluate(LAYOUT).to_string();
    assert!(faults.contains("wide"), "{faults}");
    assert!(faults.contains("much too long"), "{faults}");
    assert!(faults.contains("crushed to 20"), "{faults}");
    let heard = tab.close();
    assert!(
        heard.requests.iter().any(|url| url.contains("x.png")),
        "{heard:?}"
    );
    assert!(
        heard.complaints.iter().any(|text| text.contains("no")),
        "{heard:?}"
    );
    std::fs::remove_file(&path).expect("removed");
}
