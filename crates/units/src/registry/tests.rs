use std::fmt::Debug;
use std::sync::{Arc, LazyLock};

use super::{ChooseError, Chosen, Kind, Registered, Registry, nearest};

/// A trait with several kinds.
trait Drink: Debug + Send + Sync {
    fn grams(&self) -> u32;
}

#[derive(Debug)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields)
)]
struct Tea {
    /// Water, grams.
    #[cfg_attr(feature = "settings", serde(default = "cup"))]
    water: u32,
}

#[cfg(feature = "settings")]
fn cup() -> u32 {
    200
}

impl Drink for Tea {
    fn grams(&self) -> u32 {
        self.water + 2
    }
}

impl Registered for dyn Drink {
    fn registry() -> &'static Registry<Self> {
        static ALL: LazyLock<Registry<dyn Drink>> = LazyLock::new(|| {
            let tea: Kind<dyn Drink> =
                Kind::new("tea", "Leaves in water.").standard(|| Arc::new(Tea { water: 200 }));
            #[cfg(feature = "settings")]
            let tea = tea.settings(|tea: Tea| Arc::new(tea));
            Registry::new("drink", [tea]).with_bare_key("water")
        });
        &ALL
    }

    fn problem(&self) -> Option<String> {
        (self.grams() < 10).then(|| "a drink is 10 g at least".to_owned())
    }
}

/// A kind is chosen by its name; an unknown name is refused with the known ones, and a taken name cannot be registered.
#[test]
fn kinds_are_chosen_by_name() {
    let registry = <dyn Drink>::registry();
    let tea = registry.choose("tea").expect("registered");
    assert_eq!((tea.kind(), tea.grams()), ("tea", 202));
    let by_hand = |water| Chosen::<dyn Drink>::of("tea", Arc::new(Tea { water }));
    assert_eq!(tea, by_hand(200));
    assert_ne!(tea, by_hand(100));
    let error = registry.choose("cofee").expect_err("no such drink");
    assert!(matches!(&error, ChooseError::Unknown { name, .. } if name == "cofee"));
    assert!(
        error
            .to_string()
            .starts_with("there is no drink 'cofee': write one of tea")
    );
    let error = registry.choose("tee").expect_err("no such drink");
    assert!(
        error
            .to_string()
            .contains("did you mean 'tea'? write one of"),
        "{error}"
    );
    for (word, near) in [
        ("TEA", Some("tea")),
        ("te", Some("tea")),
        ("T", Some("t")),
        ("c", None),
        ("", None),
    ] {
        assert_eq!(nearest(word, ["tea", "t"].into_iter()), near, "{word}");
    }
    let taken = registry
        .register(Kind::new("tea", "Again."))
        .expect_err("taken");
    assert_eq!(
        taken.to_string(),
        "the drink 'tea' exists already: choose another name"
    );
}

/// A kind registered later is listed with the others; without defaults its name alone does not choose it.
#[test]
fn kinds_are_added() {
    let registry = <dyn Drink>::registry();
    registry
        .register(Kind::new("juice", "Pressed from fruit."))
        .expect("a new name");
    assert!(registry.kinds().iter().any(|kind| kind.name() == "juice"));
    let error = registry.choose("juice").expect_err("no standard");
    assert!(
        error.to_string().contains("some have no default"),
        "{error}"
    );
}

/// A choice is read from a table or a name, and is written as a table with all its settings.
#[cfg(feature = "settings")]
#[test]
fn choices_are_settings() {
    use serde_json::json;

    let read = |value| serde_json::from_value::<Chosen<dyn Drink>>(value);
    let small = read(json!({ "kind": "tea", "water": 100 })).expect("reads");
    assert_eq!(small.grams(), 102);
    assert_eq!(
        serde_json::to_value(&small).expect("writes"),
        json!({ "kind": "tea", "water": 100 })
    );
    let plain = read(json!("tea")).expect("reads");
    assert_eq!(plain.grams(), 202);
    assert_eq!(
        serde_json::to_value(&plain).expect("writes"),
        json!({ "kind": "tea", "water": 200 }),
        "defaults are written down"
    );
    assert_eq!(<dyn Drink>::registry().choose("tea"), Ok(plain));
    assert_eq!(read(json!(50)).expect("reads").grams(), 52);
    for (value, says) in [
        (json!({ "water": 100 }), "missing field `kind`"),
        (json!({ "kind": "tea", "milk": 1 }), "unknown field `milk`"),
        (json!({ "kind": "tea", "water": 7 }), "10 g at least"),
        (json!("beer"), "there is no drink 'beer'"),
        (json!([]), "expected a table with a 'kind', found []"),
    ] {
        let error = read(value).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    }
}

/// The schema has one alternative for each kind, distinguished by `kind`.
#[cfg(feature = "settings")]
#[test]
fn the_schema_lists_the_kinds() {
    use schemars::{JsonSchema, SchemaGenerator};

    let schema = Chosen::<dyn Drink>::json_schema(&mut SchemaGenerator::default()).to_value();
    let tea = &schema["oneOf"][0];
    assert_eq!(tea["properties"]["kind"]["const"], "tea");
    assert_eq!(tea["properties"]["water"]["description"], "Water, grams.");
    assert_eq!(tea["required"], serde_json::json!(["kind"]));
    assert_eq!(tea["additionalProperties"], false);
}
