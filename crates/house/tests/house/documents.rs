//! Rules for the pages of the documentation: the README is short, the index names every page, and links lead to files.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::sources::{files_below, root, text_of};

/// The README has at most 130 lines.
#[test]
fn the_readme_is_short() {
    let lines = text_of("README.md").lines().count();
    assert!(lines <= 130, "README.md has {lines} lines");
}

/// `docs/README.md` links each page under `docs`.
#[test]
fn the_index_names_every_page() {
    let docs = root().join("docs");
    let index = text_of("docs/README.md");
    let linked: Vec<&str> = links(&index).collect();
    for page in files_below(&docs, "md") {
        let page = page.strip_prefix(&docs).expect("a page");
        let name = page.to_str().expect("names are ASCII");
        assert!(
            name == "README.md" || linked.contains(&name),
            "docs/README.md does not name {name}"
        );
    }
}

/// Each link of a page to the repository leads to a file or a folder.
#[test]
fn links_lead_somewhere() {
    let mut dead = String::new();
    for page in pages() {
        let folder = page.parent().expect("a page is in a folder");
        let text = fs::read_to_string(&page).expect("pages are readable");
        for link in links(&text) {
            if !folder.join(link).exists() {
                let _ = writeln!(dead, "{}: {link}", page.display());
            }
        }
    }
    assert!(dead.is_empty(), "{dead}");
}

/// Each link to a part of a page leads to a heading of it.
#[test]
fn links_lead_to_headings() {
    let mut dead = String::new();
    for page in pages() {
        let folder = page.parent().expect("a page is in a folder");
        let text = fs::read_to_string(&page).expect("pages are readable");
        for (link, part) in targets(&text) {
            let of = if link.is_empty() {
                page.clone()
            } else {
                folder.join(link)
            };
            if part.is_empty() || of.extension().is_none_or(|end| end != "md") {
                continue;
            }
            let text = fs::read_to_string(&of).unwrap_or_default();
            if !anchors(&text).any(|anchor| anchor == part) {
                let _ = writeln!(dead, "{}: {link}#{part}", page.display());
            }
        }
    }
    assert!(dead.is_empty(), "{dead}");
}

/// A file of the crates that a page names exists. What follows `::` is a name in it.
#[test]
fn named_files_exist() {
    let mut dead = String::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("pages are readable");
        for file in text.split('`').skip(1).step_by(2) {
            let file = file.split("::").next().unwrap_or_default();
            let is_file = file.starts_with("crates/") && !file.contains([' ', '*', '{', '<', '\n']);
            if is_file && !root().join(file).exists() {
                let _ = writeln!(dead, "{}: {file}", page.display());
            }
        }
    }
    assert!(dead.is_empty(), "{dead}");
}

/// A line of prose has at most 120 columns.
#[test]
fn lines_are_short() {
    let mut long = String::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("pages are readable");
        for line in text.split("```").step_by(2).flat_map(str::lines) {
            let is_prose = !line.starts_with(['|', '!']) && !line.starts_with("    ");
            if is_prose && line.chars().count() > 120 {
                let _ = writeln!(long, "{}: {line}", page.display());
            }
        }
    }
    assert!(long.is_empty(), "{long}");
}

/// Links to the web, to parts of the page itself and in blocks of code are left out.
#[test]
fn links_are_told_apart() {
    let text = "[a](b.md#part), [c](https://example.org), [d](#e)\n```\n[f](g)\n```\n[h](../i/)";
    assert_eq!(links(text).collect::<Vec<_>>(), ["b.md", "../i/"]);
    let all = [("b.md", "part"), ("", "e"), ("../i/", "")];
    assert_eq!(targets(text).collect::<Vec<_>>(), all);
}

/// Anchors are those of GitHub; lines of code are no headings.
#[test]
fn anchors_of_headings() {
    let text = "# `[run]`: how long\n```\n# no\n```\n## A-b_c d\n";
    let all: Vec<String> = anchors(text).collect();
    assert_eq!(all, ["run-how-long", "a-b_c-d"]);
}

/// Returns the pages that people read: those of the root, of `docs`, and the READMEs of the other folders.
fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(root()).expect("the repository");
    let entries = entries.map(|entry| entry.expect("a readable entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let of_root = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "md"));
    let readmes = folders
        .into_iter()
        .map(|folder| folder.join("README.md"))
        .filter(|page| page.is_file());
    of_root
        .chain(readmes)
        .chain(files_below(&root().join("docs"), "md"))
        .collect()
}

/// Returns the links of a page to files, without the part of the file that they name.
fn links(page: &str) -> impl Iterator<Item = &str> {
    targets(page)
        .map(|(link, _)| link)
        .filter(|link| !link.is_empty())
}

/// Returns the files to which the links of a page lead, empty for the page itself, and the parts that they name.
fn targets(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.split("```").step_by(2).flat_map(|prose| {
        prose
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', ' ', '\n']).next())
            .map(|link| link.split_once('#').unwrap_or((link, "")))
            .filter(|(link, _)| !link.contains(':'))
    })
}

/// Returns the anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    let lines = page.split("```").step_by(2).flat_map(str::lines);
    let titles = lines.filter(|line| line.starts_with('#'));
    titles.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let is_kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        let kept = title.chars().filter(is_kept);
        kept.map(|letter| if letter == ' ' { '-' } else { letter })
            .collect()
    })
}
