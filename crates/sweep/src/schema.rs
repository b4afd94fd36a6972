//! The tables of a store.
//!
//! What repeats is kept once and referred to by number. The views have the columns that `docs/sweeps.md` describes.

/// The number of the format. Format 1 was a folder of Parquet files and segments.
pub(crate) const FORMAT: i64 = 2;

/// Marks the file as a store: "Fwst".
pub(crate) const APPLICATION: i64 = 0x4677_7374;

/// Every table and view, as SQLite keeps their text. A store with anything else in it is refused, so that no statement
/// of ours runs a trigger or a view that somebody else has written.
pub(crate) const SCHEMA: [&str; 17] = [
    "CREATE TABLE sources (id INTEGER PRIMARY KEY, sources TEXT NOT NULL UNIQUE)",
    "CREATE TABLE origin (id INTEGER PRIMARY KEY, version TEXT NOT NULL, host TEXT NOT NULL, date TEXT NOT NULL, \
     UNIQUE (version, host, date))",
    "CREATE TABLE trace (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, text TEXT NOT NULL)",
    // `traces` is a JSON object: the number of each trace by its name.
    "CREATE TABLE scenario (id INTEGER PRIMARY KEY, scenario TEXT NOT NULL UNIQUE, title TEXT NOT NULL, \
     text TEXT NOT NULL, traces TEXT NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE path (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE)",
    "CREATE TABLE setting (scenario INTEGER NOT NULL, path INTEGER NOT NULL, value TEXT NOT NULL, \
     PRIMARY KEY (scenario, path)) WITHOUT ROWID",
    "CREATE TABLE name (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, \"of\" TEXT NOT NULL, \"window\" TEXT NOT NULL, \
     metric TEXT NOT NULL, unit TEXT NOT NULL, UNIQUE (kind, \"of\", \"window\", metric, unit))",
    "CREATE TABLE run (id INTEGER PRIMARY KEY, scenario INTEGER NOT NULL, seed INTEGER NOT NULL, \
     perturbed INTEGER NOT NULL, sources INTEGER NOT NULL, origin INTEGER NOT NULL, digest TEXT NOT NULL, \
     packet_hops INTEGER NOT NULL, simulated_ns INTEGER NOT NULL, period_ns INTEGER NOT NULL, notes TEXT NOT NULL, \
     checksum INTEGER NOT NULL, UNIQUE (scenario, sources, perturbed, seed))",
    "CREATE TABLE value (run INTEGER NOT NULL, place INTEGER NOT NULL, name INTEGER NOT NULL, value REAL, \
     PRIMARY KEY (run, place)) WITHOUT ROWID",
    // `numbers` has 8 bytes for each, little-endian.
    "CREATE TABLE list (run INTEGER NOT NULL, place INTEGER NOT NULL, name INTEGER NOT NULL, numbers BLOB NOT NULL, \
     PRIMARY KEY (run, place)) WITHOUT ROWID",
    "CREATE TABLE sweep (id TEXT NOT NULL PRIMARY KEY, json TEXT NOT NULL)",
    // The processes that add runs, each with when it was last seen.
    "CREATE TABLE at_work (id INTEGER PRIMARY KEY, seen REAL NOT NULL)",
    "CREATE VIEW runs AS SELECT s.scenario, r.seed, r.perturbed, c.sources, r.digest, r.packet_hops, r.simulated_ns, \
     r.period_ns, r.notes, o.version, o.host, o.date FROM run r JOIN scenario s ON s.id = r.scenario \
     JOIN sources c ON c.id = r.sources JOIN origin o ON o.id = r.origin",
    "CREATE VIEW \"values\" AS SELECT s.scenario, r.seed, r.perturbed, c.sources, n.kind, n.\"of\", n.\"window\", \
     n.metric, v.value, n.unit FROM run r JOIN value v ON v.run = r.id JOIN name n ON n.id = v.name \
     JOIN scenario s ON s.id = r.scenario JOIN sources c ON c.id = r.sources",
    "CREATE VIEW series AS SELECT s.scenario, r.seed, r.perturbed, c.sources, n.kind, n.\"of\", n.metric, \
     l.numbers AS \"values\", n.unit FROM run r JOIN list l ON l.run = r.id JOIN name n ON n.id = l.name \
     JOIN scenario s ON s.id = r.scenario JOIN sources c ON c.id = r.sources",
    "CREATE VIEW settings AS SELECT s.scenario, p.path, t.value FROM setting t JOIN scenario s ON s.id = t.scenario \
     JOIN path p ON p.id = t.path",
    "CREATE VIEW scenarios AS SELECT scenario, title, text, (SELECT json_group_object(e.key, t.text) \
     FROM json_each(traces) e JOIN trace t ON t.id = e.value) AS traces FROM scenario",
];
