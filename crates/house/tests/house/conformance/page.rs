//! Checks that the tables of `docs/conformance.md` follow from the list. `UPDATE_DOCS=1` writes them.

use std::fmt::Write as _;
use std::fs;

use super::table::{Row, rows};
use crate::sources::{root, text_of};

/// The RFCs of the list and what each is about.
const TITLES: [(u16, &str); 15] = [
    (4340, "DCCP (with errata 974 and 1049)"),
    (4341, "CCID 2, TCP-like"),
    (4342, "CCID 3, TFRC in DCCP"),
    (5238, "DTLS over DCCP"),
    (5348, "TFRC"),
    (5595, "Service Codes"),
    (5596, "simultaneous open"),
    (5622, "CCID 4, TFRC for small packets (with RFC 4828)"),
    (6323, "the sender's round-trip time"),
    (6773, "DCCP in UDP"),
    (8311, "ECN for DCCP (section 6)"),
    (8899, "path MTU discovery by probes"),
    (9000, "validation of addresses (QUIC, sections 8 and 9)"),
    (9147, "DTLS 1.3, without the handshake"),
    (9853, "checks of paths for DTLS"),
];

/// How a status begins, best first.
const STATUSES: [&str; 4] = ["met", "partly", "not yet", "not ours"];

/// The tables of the page are those of the list.
#[test]
fn the_page_follows_from_the_list() {
    let page = text_of("docs/conformance.md");
    let rows: Vec<Row> = rows().into_iter().map(|(_, row)| row).collect();
    let mut wanted = with_table(&page, "counts", &counts(&rows));
    for status in &STATUSES[1..] {
        wanted = with_table(&wanted, status, &explained(&rows, status));
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join("docs/conformance.md"), wanted).expect("docs can be written");
        return;
    }
    for (line, wanted) in page.lines().zip(wanted.lines()) {
        assert_eq!(
            line, wanted,
            "UPDATE_DOCS=1 cargo test -p fairwire-house mends it"
        );
    }
    assert_eq!(page, wanted);
}

/// What stands between the markers is replaced, and nothing else.
#[test]
fn tables_stand_between_their_markers() {
    let page = "a\n<!-- b -->\nold\n<!-- end of b -->\nc\n";
    assert_eq!(
        with_table(page, "b", "new\n"),
        "a\n<!-- b -->\nnew\n<!-- end of b -->\nc\n"
    );
}

/// Returns the page with another table between the markers of `name`.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (
        format!("<!-- {name} -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let (before, rest) = page.split_once(&begin).expect("a marker");
    let (_, after) = rest.split_once(&end).expect("the end of its table");
    format!("{before}{begin}{table}{end}{after}")
}

/// Returns how many rows of each RFC have each status.
fn counts(rows: &[Row]) -> String {
    let mut table = format!(
        "| RFC | about | requirements | {} |\n|---|---|---|---|---|---|---|\n",
        STATUSES.join(" | ")
    );
    let mut line = |rfc: &str, title: &str, rows: &[&Row]| {
        let _ = write!(table, "| {rfc} | {title} | {} |", rows.len());
        for status in STATUSES {
            let count = rows.iter().filter(|row| reason(row, status).is_some());
            let _ = write!(table, " {} |", count.count());
        }
        table.push('\n');
    };
    for (rfc, title) in TITLES {
        let own: Vec<&Row> = rows.iter().filter(|row| row.rfc == rfc).collect();
        line(&rfc.to_string(), title, &own);
    }
    line("all", "", &rows.iter().collect::<Vec<_>>());
    table
}

/// Returns the rows of one status, with what their status says.
fn explained(rows: &[Row], status: &str) -> String {
    let last = match status {
        "partly" => "what differs",
        "not yet" => "what happens instead",
        _ => "whose it is",
    };
    let mut table =
        format!("| RFC | section | level | requirement | {last} |\n|---|---|---|---|---|\n");
    for row in rows {
        if let Some(reason) = reason(row, status) {
            let sections = row.written_sections();
            let Row {
                rfc,
                level,
                requirement,
                ..
            } = row;
            let _ = writeln!(
                table,
                "| {rfc} | {sections} | {level} | {requirement} | {reason} |"
            );
        }
    }
    table
}

/// Returns what the row says about its status if that is `status`.
fn reason<'a>(row: &'a Row, status: &str) -> Option<&'a str> {
    let rest = row.status.strip_prefix(status)?;
    Some(rest.trim_start_matches(": "))
}
