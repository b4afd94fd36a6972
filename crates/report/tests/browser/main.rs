//! The reports: what their pages say, and how they look in a real browser, Chromium, with the windows of a desktop, of a
//! telephone of 390 pixels, and of paper.
//!
//! In the browser a page shows every paper of the catalogue with made-up numbers that are as long as possible, and
//! others have results of real runs: two papers, and a scenario file. Without Chromium the tests are skipped with a
//! message; with `FAIRWIRE_NO_SKIP=1` they fail (`scripts/setup` installs it).

mod axis;
mod cells;
mod chromium;
mod drawings;
mod made_up;
mod papers;
mod real;

use std::path::PathBuf;
use std::sync::LazyLock;

use chromium::{Chromium, Screen, Tab};
use fairwire_paper::{Bundle, Paper, Reported};
use fairwire_papers::catalogue;
use serde_json::Value;

/// A function that returns the faults in the layout of a page, or in its colours alone, as a list of sentences.
const LAYOUT: &str = include_str!("layout.js");

/// The report on one paper, which has no first page for several, with made-up numbers.
static ALONE: LazyLock<String> = LazyLock::new(|| made_up_page(&catalogue()[..1]));
/// The report on all papers, with made-up numbers.
static ALL: LazyLock<String> = LazyLock::new(|| made_up_page(catalogue()));

fn made_up_page(bundles: &[Bundle]) -> String {
    let papers: Vec<Paper> = bundles
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
    fairwire_report::page(&reported)
}

fn file(name: &str, page: &str) -> PathBuf {
    let name = format!("fairwire-page-{name}-{}.html", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, page).expect("a file");
    path
}

/// Starts Chromium; `None` if it is missing and the tests may be skipped.
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

/// Every report fits its window on a desktop, on a telephone and on paper, with details open and closed.
///
/// Nothing is cut or lies outside the window. Only tables in their own frames scroll sideways. Texts do not overlap and
/// have enough contrast. The page makes no network requests and writes no errors to the console.
#[test]
fn reports_fit_every_window() {
    let (real, run) = (real::page(), real::run_page());
    let pages = [
        ("alone", ALONE.as_str()),
        ("all", ALL.as_str()),
        ("real", &real),
        ("run", &run),
    ];
    // A browser for each of two processors; the pages differ in size, so each takes every other one.
    std::thread::scope(|scope| {
        for first in 0..2 {
            let pages = pages.iter().skip(first).step_by(2);
            scope.spawn(move || fit_every_window(pages));
        }
    });
}

/// The report of all papers prints on at most 60 pages while its parts are closed, and on more when they are open.
#[test]
fn closed_parts_are_not_printed() {
    let Some(mut browser) = browser() else {
        return;
    };
    let closed = file("closed", &ALL);
    let open = file("open", &ALL.replace("<details ", "<details open "));
    let [closed_pages, open_pages] = [&closed, &open].map(|path| browser.printed_pages(path));
    assert!((1..=60).contains(&closed_pages), "{closed_pages} pages");
    assert!(open_pages > 2 * closed_pages, "{open_pages} pages");
    for path in [closed, open] {
        std::fs::remove_file(&path).expect("removed");
    }
}

/// A link to a claim opens the part that holds its reason, without a script.
#[test]
fn links_open_closed_parts() {
    let Some(mut browser) = browser() else {
        return;
    };
    let path = file("links", &ALONE);
    let mut tab = browser.open(Screen::DESK, &path);
    let link = "document.querySelector('.glance a')";
    let part = format!("document.querySelector({link}.getAttribute('href')).closest('.part')");
    assert_eq!(tab.evaluate(&format!("{part}.open")), false);
    tab.evaluate(&format!("{link}.click()"));
    assert_eq!(tab.evaluate(&format!("{part}.open")), true);
    tab.close();
    std::fs::remove_file(&path).expect("removed");
}

fn fit_every_window<'a>(pages: impl Iterator<Item = &'a (&'a str, &'a str)>) {
    let Some(mut browser) = browser() else {
        return;
    };
    for (name, page) in pages {
        let path = file(name, page);
        for screen in [Screen::DESK, Screen::TELEPHONE, Screen::PAPER] {
            let mut tab = browser.open(screen, &path);
            for open in ["false", "true"] {
                let part =
                    format!("document.querySelectorAll('details').forEach(d => d.open = {open})");
                tab.evaluate(&part);
                tab.show(screen);
                let by_day = faults(&mut tab, false);
                // The night has other colours, and nothing else.
                tab.show(screen.at_night());
                let at_night = faults(&mut tab, true);
                let faults = [by_day, at_night].concat();
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

/// Returns what is wrong with a page, or with its colours alone.
fn faults(tab: &mut Tab<'_>, colours_alone: bool) -> Vec<Value> {
    match tab.evaluate(&format!("({LAYOUT})({colours_alone})")) {
        Value::Array(faults) => faults,
        other => panic!("no list of faults: {other}"),
    }
}

/// The test above finds each fault of a faulty page, and no other.
///
/// Elements are too wide or crushed, texts lie outside their drawing or box, or overlap (in the page, in a drawing,
/// slanted). Text and a curve have too little contrast. There are an external picture and an error on the console.
#[test]
fn faults_are_found() {
    let Some(mut browser) = browser() else {
        return;
    };
    let page = "<!doctype html><html lang=\"en\"><head><meta name=\"viewport\" content=\"width=device-width\"><title>x</title></head>\
        <body><div id=\"wide\" style=\"width:700px\">wide</div>\
        <p style=\"width:20px\">crushed words that no one can read</p>\
        <svg viewBox=\"0 0 100 20\" width=\"100\"><text x=\"90\" y=\"15\">much too long</text></svg>\
        <svg viewBox=\"0 0 300 200\" width=\"300\" font-size=\"12\"><text x=\"9\" y=\"20\">lower</text><text x=\"20\" y=\"24\">upper</text>\
        <text transform=\"translate(60 90) rotate(-35)\">slanted</text><text transform=\"translate(68 90) rotate(-35)\">beside</text>\
        <text transform=\"translate(160 90) rotate(-35)\">far away</text>\
        <g><rect class=\"host\" x=\"9\" y=\"120\" width=\"20\" height=\"20\"/><text x=\"11\" y=\"135\">outside</text></g>\
        <path class=\"ours\" d=\"M9 180H90\" stroke=\"#ddd\"/></svg>\
        <div style=\"position:relative;height:60px\"><span>first</span><span style=\"position:absolute;left:5px;top:6px\">second</span></div>\
        <p style=\"color:#999\">faint</p><p>plain</p>\
        <img src=\"http://127.0.0.1:9/x.png\" alt=\"\"><script>console.error('no')</script></body></html>";
    let path = file("faulty", page);
    let mut tab = browser.open(Screen::TELEPHONE, &path);
    let found = faults(&mut tab, false);
    let faults: Vec<String> = found.iter().map(ToString::to_string).collect();
    for (kind, what) in [
        ("the page is 708 wide", ""),
        ("from 8 to 708", "'wide'"),
        ("crushed to 20", "crushed words"),
        ("cut in its drawing", "much too long"),
        ("wider than its box", "outside"),
        ("over each other", "'lower' and text. 'upper'"),
        ("over each other", "'slanted' and text. 'beside'"),
        ("over each other", "'first' and span. 'second'"),
        ("too faint, 2.85 to 1", "'faint'"),
        ("too faint, 1.36 to 1", "path.ours"),
    ] {
        let found = |fault: &&String| fault.contains(kind) && fault.contains(what);
        let count = faults.iter().filter(found).count();
        assert_eq!(count, 1, "{kind} {what}\n{}", faults.join("\n"));
    }
    for innocent in ["far away", "plain"] {
        let blamed = faults.iter().find(|fault| fault.contains(innocent));
        assert_eq!(blamed, None);
    }
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
