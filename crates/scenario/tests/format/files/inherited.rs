//! Values that a cell inherits from the base, and values that it removes.

use fairwire_scenario::{Adjust, Cell, Source};

use super::super::{cells, refusal, refused, with_set};
use super::GOOD;

/// A size alone in a cell changes the size, but keeps the source of the queue's kind in the base.
#[test]
fn a_short_form_keeps_the_source_of_the_kind() {
    let base = "queue = { kind = \"droptail\", limit = \"9 packets\", source = \"derived\", note = \"by its name\" }";
    let text = GOOD.replacen(
        "queue = { value = \"20 packets\", source = \"assumed\", note = \"direction not given\" }",
        base,
        1,
    );
    let cell = "topology.bottleneck.queue = { value = \"5 packets\", source = \"paper\" }";
    let text = text.replacen("[cells.plain]", &format!("[cells.plain]\n{cell}"), 1);
    let cells = cells(&text, &Adjust::default());
    let known = |path: &str| cells[0].provenance[path].clone();
    let kind = known("topology.bottleneck.queue.kind");
    assert_eq!(
        (kind.source, kind.note.as_deref()),
        (Source::Derived, Some("by its name"))
    );
    assert_eq!(
        known("topology.bottleneck.queue.limit").source,
        Source::Paper
    );
    assert_eq!(
        cells[1].provenance["topology.bottleneck.queue.limit"].source,
        Source::Derived
    );
}

/// `remove` removes one key or table, and `replace` everything that a table inherits. Both may have a note.
#[test]
fn what_is_inherited_goes() {
    let over = "topology.bottleneck.back.remove = true\nflows.web = { remove = true, note = \"alone\" }\n\
                [cells.plain.measure.windows]\nreplace = true\nlate = { from = \"100 s\" }";
    let text = GOOD.replacen("[cells.plain]", &format!("[cells.plain]\n{over}"), 1);
    let text = text.replacen(
        "[cells.plain]",
        "[measure]\nwindows = { early = { to = \"50 s\" } }\n[cells.plain]",
        1,
    );
    let all = cells(&text, &Adjust::default());
    let [plain, cut] = &all[..] else {
        panic!("two cells");
    };
    let names = |cell: &Cell| {
        let windows = cell.scenario.measure.windows.iter();
        windows.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(plain), names(cut)),
        (vec!["late".into()], vec!["early".into()])
    );
    let back = |cell: &Cell| {
        let link = cell.scenario.topology.link("bottleneck");
        link.expect("one").back.is_some()
    };
    assert_eq!((back(plain), back(cut)), (false, true));
    assert!(plain.scenario.flows.get("web").is_none());
    assert!(!plain.stated.iter().any(|path| path.contains("web")));
}

/// In the way back of a link, `remove` removes what it inherits from its link, in the base, in a cell, and in a table
/// within it. A later override may state it again. What neither the link nor its way back has is an error.
#[test]
fn a_way_back_removes_what_its_link_has() {
    let link = "delay_variation = { deviation = \"5 ms\", reorders = true }\nloss = \"2 %\"\n";
    let with = |base: &str, plain: &str| {
        let text = GOOD.replacen("back.loss = \"1 %\"", &format!("{link}{base}"), 1);
        text.replacen("[cells.plain]", &format!("[cells.plain]\n{plain}"), 1)
    };
    let back = |cell: &Cell| {
        let link = cell.scenario.topology.link("bottleneck").expect("one");
        assert!(link.loss.is_some() && link.delay_variation.is_some());
        let back = link.reversed();
        let reorders = back.delay_variation.is_some_and(|it| it.reorders);
        (
            back.loss.is_some(),
            back.delay_variation.is_some(),
            reorders,
        )
    };
    let at = "topology.bottleneck.back";
    for (base, over, plain, cut) in [
        ("", String::new(), (true, true, true), (true, true, true)),
        (
            "back.loss.remove = true",
            String::new(),
            (false, true, true),
            (false, true, true),
        ),
        (
            "",
            format!("{at}.delay_variation.remove = true"),
            (true, false, false),
            (true, true, true),
        ),
        (
            "",
            format!("{at}.delay_variation.reorders.remove = true"),
            (true, true, false),
            (true, true, true),
        ),
        (
            "back.loss.remove = true",
            format!("{at}.loss = {{ kind = \"random\", rate = \"1 %\", source = \"assumed\" }}"),
            (true, true, true),
            (false, true, true),
        ),
        (
            "back.loss.remove = true",
            format!("{at}.loss.remove = true"),
            (false, true, true),
            (false, true, true),
        ),
    ] {
        let cells = cells(&with(base, &over), &Adjust::default());
        assert_eq!(
            (back(&cells[0]), back(&cells[1])),
            (plain, cut),
            "{base} {over}"
        );
    }
    let message = refusal(&with("back.mtu.remove = true", ""));
    assert!(message.contains("'mtu' is not inherited"), "{message}");
}

/// On the command line as in a cell, `remove` lets a way back be without what its link has, whoever stated it; elsewhere
/// it removes what is stated. `replace` removes what a table has.
#[test]
fn the_command_line_removes_too() {
    let text = GOOD.replacen("back.loss = ", "loss = \"2 %\"\nback.loss = ", 1);
    let losses = |text: &str, set: &[&str]| {
        let cells = cells(text, &with_set(set));
        let links = cells.iter().map(|cell| {
            let link = cell.scenario.topology.link("bottleneck").expect("one");
            (link.loss.is_some(), link.reversed().loss.is_some())
        });
        let links: Vec<(bool, bool)> = links.collect();
        assert_eq!(links[0], links[1]);
        links[0]
    };
    let back = "topology.bottleneck.back.loss";
    let inherits = text.replacen("back.loss = \"1 %\"\n", "", 1);
    let removed = text.replacen("back.loss = \"1 %\"", "back.loss.remove = true", 1);
    for text in [&text, &inherits, &removed] {
        for set in [
            format!("{back}.remove=true"),
            format!("{back}={{ remove = true }}"),
            format!("{back} = {{ remove = true, note = \"clean\" }}"),
        ] {
            assert_eq!(losses(text, &[&set]), (true, false), "{set}");
        }
    }
    let again = [format!("{back}.remove=true"), format!("{back}=3 %")];
    let again = again.each_ref().map(String::as_str);
    assert_eq!(losses(&text, &again), (true, true));
    let forth = "topology.bottleneck.loss.remove=true";
    assert_eq!(losses(&text, &[forth]), (false, true));
    assert_eq!(losses(&inherits, &[forth]), (false, false));
    let gone = cells(&text, &with_set(&["flows.web={ remove = true }"]));
    let mut gone = gone.iter();
    assert!(gone.all(|cell| cell.scenario.flows.get("web").is_none()));
    let replaced = with_set(&["topology.bottleneck.back.replace=true"]);
    let replaced = cells(&text, &replaced);
    let link = replaced[0]
        .scenario
        .topology
        .link("bottleneck")
        .expect("one");
    assert_eq!(link.reversed().loss, link.loss, "it has its own no more");

    let refused = |text: &str, set: &str| refused(text, &with_set(&[set]));
    let error = refused(&inherits, &format!("{back}="));
    let hint = format!("write --set {back}.remove=true for a way back without it");
    assert!(error.contains(&hint), "{error}");
    let error = refused(&text, "topology.bottleneck.back.mtu.remove=true");
    assert!(
        error.contains("nothing states 'topology.bottleneck.back.mtu'"),
        "{error}"
    );
    let error = refused(&text, &format!("{back}.remove=false"));
    assert!(
        error.contains("write remove=true, or leave 'remove' out"),
        "{error}"
    );
}

/// Only inherited keys can be removed, and both words take only `true`. Each error points at its place.
#[test]
fn removing_what_is_not_there_is_refused() {
    for (from, to, place, hint) in [
        (
            "[cells.plain]",
            "[cells.plain]\nflows.vidoe.remove = true",
            ":35:7",
            "'vidoe' is not inherited, so it cannot be removed: did you mean 'video'? inherited keys: web, video",
        ),
        (
            "[cells.plain]",
            "[cells.plain]\nmeasure.series.remove = true",
            ":35:9",
            "inherited keys: none",
        ),
        (
            "back.loss = \"1 %\"",
            "back.remove = true",
            ":17:1",
            "'back' is not inherited",
        ),
        (
            "[cells.plain]",
            "[cells.plain]\nflows.web.remove = false",
            ":35:20",
            "write remove = true, or leave 'remove' out",
        ),
        (
            "[cells.plain]",
            "[cells.plain]\nflows.web = { replace = 1 }",
            ":35:25",
            "write replace = true",
        ),
        (
            "[cells.plain]",
            "[cells.plain]\nflows.web = { remove = true, wire = \"9 B\" }",
            ":35:30",
            "beside 'remove': only 'source' and 'note' are allowed there",
        ),
        (
            "[cells.plain]",
            "[cells.plain]\nremove = true",
            ":34:",
            "a whole scenario cannot be removed",
        ),
        (
            "[cells.plain]",
            "[cells.plain]\nflows.video.dccp.ccid_changes = [{ remove = true }]",
            ":35:34",
            "an item of a list cannot be removed",
        ),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let message = refusal(&GOOD.replacen(from, to, 1));
        assert!(message.contains(hint), "{to}: {message}");
        assert!(message.contains(place), "{to}: {message}");
    }
}
