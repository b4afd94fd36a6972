//! Verdicts over synthetic results, and claims that are refused.

use super::{Judged, Verdict};
use crate::synthetic::{fitted_paper, paper, paper_keeping_loss, results};

const CLAIM: &str = r#"
[[claims]]
id = "C1"
place = "Table 1"
says = "b is twice a"
windows = ["whole", "late"]
because = { holds = "it is", partly = "at times", fails = "it is not" }
[[claims.checks]]
kind = "relative"
cells = ["a", "b"]
flow = "dccp"
metric = "throughput"
unit = "kbit/s"
expected = [100, 200]
tolerance = 0.05
why = "five per cent"
[[claims.isolated_by]]
says = "look:"
cells = ["a"]
flow = "dccp"
metric = "throughput"
window = "late"
unit = "kbit/s"
"#;

/// A failed check of `beyond` becomes a condition of the verdict, and one that holds does not.
#[test]
fn a_claim_goes_as_far_as_its_beyond() {
    let beyond = |expected: u32| {
        let check = format!(
            "[[claims.beyond]]\ncondition = \"on slow links\"\nkind = \"range\"\nunit = \"kbit/s\"\n\
             of = [{{ cell = \"a\", flow = \"dccp\", metric = \"throughput\", window = \"late\" }}]\n\
             expected = [0, {expected}]\nwhy = \"a test\"\n"
        );
        judge(&format!("{CLAIM}{check}"), (100.0, 100.0), (200.0, 200.0))
    };
    assert_eq!(beyond(150).verdict, Verdict::Reproduced);
    let limited = beyond(50);
    assert_eq!(limited.verdict, Verdict::Condition("on slow links".into()));
    assert_eq!(limited.beyond.len(), 1);
}

/// A control tells whether the same checks hold in other cells. If they do, the claim is not specific.
#[test]
fn a_control_says_what_a_check_can_tell() {
    let near = r#"
[[claims]]
id = "C"
place = "p"
says = "a is slow"
because = { holds = "h", fails = "f" }
checks = [{ kind = "range", expected = [0, LIMIT], why = "w", of = [
  { cell = "a", flow = "dccp", metric = "throughput", window = "whole" },
] }]
controls = [{ says = "b in the place of a", cells = ["a"], by = ["b"] }]
"#;
    let control = |limit: &str| {
        let judged = judge(
            &near.replace("LIMIT", limit),
            (100.0, 100.0),
            (200.0, 200.0),
        );
        (judged.verdict, judged.controls[0].sentence())
    };
    assert_eq!(
        control("150"),
        (
            Verdict::Reproduced,
            "With b in the place of a, the check does not hold.".into()
        )
    );
    assert_eq!(control("50").0, Verdict::NotReproduced);
    let (verdict, words) = control("250");
    assert!(
        verdict == Verdict::Unspecific && words.contains("these checks do not tell the two apart"),
        "{words}"
    );
    for (from, to, told) in [
        ("by = [\"b\"]", "by = []", "lists of equal length"),
        ("by = [\"b\"]", "by = [\"c\"]", "there is no cell 'c'"),
        (
            "cells = [\"a\"], by",
            "cells = [\"b\"], by",
            "must be cells of the claim's checks",
        ),
        (
            "why = \"w\"",
            "why = \"w\", condition = \"x\"",
            "only a check in 'beyond'",
        ),
    ] {
        let error = paper(&near.replace("LIMIT", "150").replace(from, to)).expect_err(told);
        assert!(error.to_string().contains(told), "{error}");
    }
}

/// A control also applies to a check against a published number, and counts the checks of its cells only.
#[test]
fn a_control_keeps_published_numbers() {
    let judged = judge(
        r#"
[[claims]]
id = "C"
place = "p"
says = "a has what is printed"
because = { holds = "h", fails = "f" }
checks = [
  { kind = "range", expected = [0.9, 1.1], why = "w", of = [{ ratio = [
    { cell = "a", flow = "dccp", metric = "throughput", window = "whole" },
    { cell = "a", flow = "dccp", metric = "throughput", published = "t.csv" },
  ] }] },
  { kind = "range", expected = [0, 300], why = "w", of = [
    { cell = "b", flow = "dccp", metric = "throughput", window = "late" },
  ] },
]
controls = [{ says = "b in the place of a", cells = ["a"], by = ["b"] }]
"#,
        (100.0, 100.0),
        (200.0, 200.0),
    );
    assert_eq!(judged.verdict, Verdict::Reproduced);
    assert_eq!(
        judged.controls[0].sentence(),
        "With b in the place of a, the check of these cells does not hold."
    );
}

/// A control of a comparison replaces one side and keeps the other.
#[test]
fn a_control_replaces_one_side() {
    let judged = judge(
        r#"
[[claims]]
id = "C"
place = "p"
says = "a is slower than b"
because = { holds = "h", fails = "f" }
checks = [{ kind = "increasing", cells = ["a", "b"], flow = "dccp", metric = "throughput", window = "whole" }]
controls = [{ says = "b in the place of a", cells = ["a"], by = ["b"] }]
"#,
        (100.0, 100.0),
        (200.0, 200.0),
    );
    assert_eq!(judged.verdict, Verdict::Reproduced);
    assert_eq!(
        judged.controls[0].sentence(),
        "With b in the place of a, the check does not hold."
    );
}

/// Judges the first of `claims`.
///
/// `a` and `b` are the throughputs (whole, late) of the cells of these names, of one seed.
fn judge(claims: &str, a: (f64, f64), b: (f64, f64)) -> Judged {
    let paper = paper(claims).unwrap_or_else(|error| panic!("{error}"));
    let results = results(&paper, &[("a", &[a]), ("b", &[b])]);
    paper.judge(&results).remove(0)
}

/// The verdict depends on the windows in which the checks hold: all, some or none.
#[test]
fn verdicts_follow_the_windows() {
    let both = judge(CLAIM, (100.0, 100.0), (200.0, 209.0));
    assert_eq!(
        (both.verdict, both.because.as_str()),
        (Verdict::Reproduced, "it is")
    );
    assert_eq!(both.isolated[0].measured[0].value(), Some(100.0));
    let late = judge(CLAIM, (100.0, 100.0), (150.0, 209.0));
    let condition = "measured over: the late part".to_owned();
    assert_eq!(
        (late.verdict, late.because.as_str()),
        (Verdict::Condition(condition), "at times")
    );
    let never = judge(CLAIM, (100.0, 90.0), (211.0, 200.0));
    assert_eq!(
        (never.verdict, never.because.as_str()),
        (Verdict::NotReproduced, "it is not")
    );
}

/// A verdict is close if other seeds could change it, whether it holds or fails.
///
/// It is not close if there is a clear failure beside a close check.
#[test]
fn close_verdicts_say_so() {
    let with = |a: &[(f64, f64)], b: &[(f64, f64)]| {
        let paper = paper(CLAIM).unwrap_or_else(|error| panic!("{error}"));
        let judged = paper
            .judge(&results(&paper, &[("a", a), ("b", b)]))
            .remove(0);
        (judged.verdict, judged.close)
    };
    let clear = [(200.0, 200.0), (200.2, 200.2)];
    let narrow = [(100.0, 100.0), (100.1, 100.1)];
    let holding = [(103.0, 103.0), (105.0, 105.0)];
    let failing = [(105.0, 105.0), (107.0, 107.0)];
    assert_eq!(with(&narrow, &clear), (Verdict::Reproduced, false));
    assert_eq!(with(&holding, &clear), (Verdict::Reproduced, true));
    assert_eq!(with(&failing, &clear), (Verdict::NotReproduced, true));
    let far = [(300.0, 300.0), (300.1, 300.1)];
    assert_eq!(with(&failing, &far), (Verdict::NotReproduced, false));
    // The check holds clearly over the whole run, and fails by chance in its late part.
    let late = [(100.0, 105.0), (100.1, 107.0)];
    assert!(with(&late, &clear).1);
}

/// Two cells that differ by the same amount in every seed differ clearly, however much the seeds vary.
#[test]
fn comparisons_are_made_seed_by_seed() {
    let order = CLAIM
        .replace("kind = \"relative\"", "kind = \"increasing\"")
        .replace(
            "expected = [100, 200]\ntolerance = 0.05\nwhy = \"five per cent\"\n",
            "",
        );
    let paper = paper(&order).unwrap_or_else(|error| panic!("{error}"));
    let of = |a: &[f64], b: &[f64]| {
        let both = |all: &[f64]| all.iter().map(|one| (*one, *one)).collect::<Vec<_>>();
        let judged = paper
            .judge(&results(&paper, &[("a", &both(a)), ("b", &both(b))]))
            .remove(0);
        (judged.verdict, judged.close)
    };
    let (a, alike, crossed) = ([100.0, 110.0], [101.0, 111.0], [111.0, 101.0]);
    assert_eq!(of(&a, &alike), (Verdict::Reproduced, false));
    assert_eq!(of(&a, &crossed), (Verdict::Reproduced, true));
}

/// A claim with a condition is never reproduced without one.
#[test]
fn conditions_are_said() {
    let claim = CLAIM.replacen("says =", "condition = \"if so\"\nsays =", 1);
    let judged = judge(&claim, (100.0, 100.0), (200.0, 200.0));
    assert_eq!(judged.verdict, Verdict::Condition("if so".into()));
    assert_eq!(
        judge(&claim, (1.0, 1.0), (1.0, 1.0)).verdict,
        Verdict::NotReproduced
    );
}

/// A claim that holds with a fitted value is "fitted"; one that does not hold is still not reproduced.
#[test]
fn fitted_values_reproduce_nothing() {
    let paper = fitted_paper(CLAIM);
    let with = |b| {
        let results = results(&paper, &[("a", &[(100.0, 100.0)]), ("b", &[(b, b)])]);
        paper.judge(&results).remove(0).verdict
    };
    assert_eq!(with(200.0), Verdict::Fitted);
    assert_eq!(with(100.0), Verdict::NotReproduced);
}

/// A paper whose own numbers fail the checks of a contradiction contradicts itself, whatever was measured.
///
/// Where they pass, the claim is judged like any other.
#[test]
fn contradictions_are_computed_from_the_printed_numbers() {
    let contradiction = |tolerance: u32| {
        format!(
            "{CLAIM}[claims.contradiction]\nsays = \"two tables\"\n\
             [[claims.contradiction.must]]\nkind = \"equal\"\nunit = \"kbit/s\"\n\
             of = [{{ published = \"t.csv\", cell = \"a\", flow = \"dccp\", metric = \"throughput\" }},\
                   {{ published = \"t.csv\", cell = \"b\", flow = \"dccp\", metric = \"throughput\" }}]\n\
             tolerance = {tolerance}\nwhy = \"the same run\"\n"
        )
    };
    let exact = ((100.0, 100.0), (200.0, 200.0));
    let judged = judge(&contradiction(109), exact.0, exact.1);
    assert_eq!(
        (judged.verdict, judged.because.as_str()),
        (
            Verdict::Contradiction,
            "two tables. Our runs meet the checks."
        )
    );
    assert_eq!(
        judge(&contradiction(110), exact.0, exact.1).verdict,
        Verdict::Reproduced
    );
    // A claim that is settled by the published numbers needs no words for the other verdicts.
    let because = "because = { holds = \"it is\", partly = \"at times\", fails = \"it is not\" }\n";
    let without = |tolerance| paper(&contradiction(tolerance).replace(because, ""));
    assert!(without(109).is_ok());
    let error = without(110).expect_err("no reason").to_string();
    assert!(error.contains("'because' needs words"), "{error}");
}

/// An untestable claim has its reason, and a claim whose cell was not run names the cell.
#[test]
fn what_cannot_be_tested_says_why() {
    let untestable =
        "[[claims]]\nid = \"C2\"\nplace = \"p\"\nsays = \"s\"\nnot_testable = \"no radio\"\n";
    let judged = judge(untestable, (1.0, 1.0), (1.0, 1.0));
    assert_eq!(
        (judged.verdict, judged.because.as_str()),
        (Verdict::NotTestable, "no radio")
    );
    let paper = paper(CLAIM).expect("loads");
    let partial = results(&paper, &[("a", &[(100.0, 100.0)])]);
    let judged = paper.judge(&partial).remove(0);
    assert_eq!(judged.verdict, Verdict::NotRun);
    assert!(judged.because.contains("'b'"), "{}", judged.because);
}

/// Unknown names, wrong units and tolerances without a reason are refused when the paper is loaded.
///
/// The error is one line with file, line and claim.
#[test]
fn mistakes_are_refused_at_load() {
    for (from, to, hint) in [
        (
            "cells = [\"a\", \"b\"]",
            "cells = [\"a\", \"c\"]",
            "there is no cell 'c': write one of a, b",
        ),
        (
            "cells = [\"a\", \"b\"]",
            "cells = [\"a\", \"B\"]",
            "there is no cell 'B': did you mean 'b'? write one of a, b",
        ),
        (
            "metric = \"throughput\"",
            "metric = \"speed\"",
            "there is no metric 'speed'",
        ),
        (
            "flow = \"dccp\"",
            "flow = \"tcp\"",
            "there is no flow 'tcp'",
        ),
        (
            "flow = \"dccp\"",
            "link = \"two\"",
            "there is no link 'two': write 'one'",
        ),
        (
            "\"late\"]\nbecause",
            "\"early\"]\nbecause",
            "there is no window 'early'",
        ),
        ("unit = \"kbit/s\"", "unit = \"ms\"", "not in 'ms'"),
        (
            "unit = \"kbit/s\"",
            "unit = \"knots\"",
            "unknown unit 'knots'",
        ),
        (
            "expected = [100, 200]",
            "expected = [100]",
            "'expected' has 1 number, but a check of this kind needs 2",
        ),
        (
            "expected = [100, 200]",
            "expected = [nan, 200]",
            "not a finite number",
        ),
        ("tolerance = 0.05", "tolerance = -5", "must be at least 0"),
        ("tolerance = 0.05", "tolerance = nan", "not a finite number"),
        (
            "kind = \"relative\"",
            "kind = \"factor\"",
            "must be at least 1",
        ),
        ("id = \"C1\"", "id = \" \"", "must not be blank"),
        ("why = \"five per cent\"", "", "needs its reason in 'why'"),
        ("windows = [\"whole\", \"late\"]", "", "'windows'"),
        ("kind = \"relative\"", "kind = \"roughly\"", "roughly"),
        ("place =", "palce =", "palce"),
        ("window = \"late\"", "", "needs a 'window'"),
    ] {
        assert!(CLAIM.contains(from), "{from}");
        let error = paper(&CLAIM.replacen(from, to, 1))
            .expect_err(to)
            .to_string();
        assert!(error.contains(hint), "{to}: {error}");
        assert!(error.contains("--> test/claims.toml:"), "{error}");
    }
    let absent = paper_keeping_loss(CLAIM).expect_err("not kept").to_string();
    assert!(
        absent.contains("claim C1") && absent.contains("does not keep 'throughput'"),
        "{absent}"
    );
    let twice = format!("{CLAIM}{CLAIM}");
    assert!(
        paper(&twice)
            .expect_err("twice")
            .to_string()
            .contains("twice")
    );
}
