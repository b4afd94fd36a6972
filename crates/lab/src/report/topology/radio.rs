//! Networks with radios: wired hosts above, access points below them, stations at the bottom.

use std::fmt::Write as _;

use super::draw::cut;
use super::{LinkText, Network};
use crate::report::chart::COLOURS;
use crate::report::markup::{Frame, esc, svg, svg_text};
use crate::scenario::{Scenario, Side};

/// The height of a box.
const BOX: f64 = 28.0;
/// Between the rows of boxes.
const BETWEEN: f64 = 58.0;
const TOP: f64 = 6.0;

/// What a network has of radios.
pub(super) struct Radio {
    /// Wired hosts that send or receive.
    wired: Vec<&'static str>,
    aps: Vec<(String, u32)>,
    stations: Vec<Station>,
}

struct Station {
    name: String,
    /// The access point that it belongs to at first.
    ap: usize,
    /// Where it goes, and when first.
    moves: Vec<(usize, String)>,
}

impl Radio {
    /// What `scenario` has of radios, if it has any.
    pub(super) fn of(scenario: &Scenario) -> Option<Self> {
        let wlan = scenario.topology.wlan.as_ref()?;
        let place = |name: &str| wlan.aps.iter().position(|(ap, _)| ap == name);
        let station = |name: &str, ap: usize| {
            let mut moves: Vec<(usize, String)> = Vec::new();
            for handoff in wlan.handoffs.iter().filter(|it| it.station == name) {
                match place(&handoff.to) {
                    Some(to) if to != ap && moves.iter().all(|(known, _)| *known != to) => {
                        moves.push((to, handoff.at.to_string()));
                    }
                    _ => {}
                }
            }
            Station {
                name: name.to_owned(),
                ap,
                moves,
            }
        };
        let stations = wlan.stations.iter();
        let ends: Vec<&str> = scenario
            .enabled_flows()
            .flat_map(|(_, flow)| [flow.sender.as_deref(), flow.receiver.as_deref()])
            .flatten()
            .collect();
        let sides = [(Side::Left, "left"), (Side::Right, "right")];
        Some(Self {
            wired: sides
                .into_iter()
                .filter(|(_, name)| ends.contains(name))
                .map(|(_, name)| name)
                .collect(),
            aps: wlan
                .aps
                .iter()
                .map(|(name, ap)| (name.to_owned(), ap.channel))
                .collect(),
            stations: stations
                .filter_map(|(name, it)| Some(station(name, place(&it.ap)?)))
                .collect(),
        })
    }

    /// What is to be seen, for those who do not see it.
    pub(super) fn alt(&self) -> String {
        let mut text = String::from("Access points");
        for (name, channel) in &self.aps {
            let _ = write!(text, " {name} (channel {channel}),");
        }
        text.push_str(" and stations");
        for station in &self.stations {
            let ap = self.aps.get(station.ap).map_or("", |(name, _)| name);
            let _ = write!(text, " {} at {ap}", station.name);
            for (to, at) in &station.moves {
                let to = self.aps.get(*to).map_or("", |(name, _)| name);
                let _ = write!(text, ", to {to} at {at}");
            }
            text.push(';');
        }
        let _ = write!(text, " wired hosts: {}.", self.wired.join(", "));
        text
    }
}

/// Draws `network`, which has `radio`, in `frame`.
pub(super) fn draw(out: &mut String, network: &Network, radio: &Radio, frame: Frame) {
    let rows = [0.0, 1.0, 2.0, 3.0].map(|row| TOP + row * (BOX + BETWEEN));
    let [wired, switch, aps, stations] = rows;
    let height = stations + BOX + TOP;
    svg(out, frame, height, &network.alt());
    let hub = frame.width / 2.0;
    let middle = |number: usize, of: usize| frame.width * (number as f64 + 0.5) / of.max(1) as f64;
    let bottleneck = network.links.iter().find(|link| link.name == "bottleneck");
    let thick = if bottleneck.is_some() { " thick" } else { "" };
    for number in 0..radio.wired.len() {
        let x = middle(number, radio.wired.len());
        line(
            out,
            &format!("wire{thick}"),
            (x, wired + BOX),
            (hub, switch + BOX / 2.0),
        );
    }
    if let Some(link) = bottleneck {
        says(out, (hub + 12.0, wired + BOX + 14.0), link);
    }
    for number in 0..radio.aps.len() {
        let x = middle(number, radio.aps.len());
        line(out, "wire", (hub, switch + BOX / 2.0), (x, aps));
    }
    for (number, station) in radio.stations.iter().enumerate() {
        let x = middle(number, radio.stations.len());
        for (to, _) in &station.moves {
            let ap = middle(*to, radio.aps.len());
            line(out, "wire later", (x, stations), (ap, aps + BOX));
        }
        let ap = middle(station.ap, radio.aps.len());
        line(out, "wire air", (x, stations), (ap, aps + BOX));
    }
    let _ = writeln!(
        out,
        "<circle class=\"router\" cx=\"{hub:.1}\" cy=\"{:.1}\" r=\"7\"/>",
        switch + BOX / 2.0
    );
    for (number, name) in radio.wired.iter().enumerate() {
        let of = radio.wired.len();
        labelled(
            out,
            frame,
            (middle(number, of), wired),
            of,
            None,
            &format!("host {name}"),
        );
    }
    for (number, (name, channel)) in radio.aps.iter().enumerate() {
        let of = radio.aps.len();
        let text = format!("{name}, channel {channel}");
        labelled(out, frame, (middle(number, of), aps), of, None, &text);
    }
    for (number, station) in radio.stations.iter().enumerate() {
        let of = radio.stations.len();
        let at = (middle(number, of), stations);
        labelled(out, frame, at, of, Some(number % COLOURS), &station.name);
    }
    out.push_str("</svg>\n");
}

fn line(out: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
        from.0, from.1, to.0, to.1
    );
}

/// What the wired link is, beside its middle.
fn says(out: &mut String, (x, y): (f64, f64), link: &LinkText) {
    for (number, text) in link.lines().into_iter().enumerate() {
        let class = if number == 0 {
            "link-name"
        } else {
            "link-text"
        };
        svg_text(out, (x, y + number as f64 * 14.0), class, text);
    }
}

/// A box with a name, one of `of` in its row.
fn labelled(
    out: &mut String,
    frame: Frame,
    (x, y): (f64, f64),
    of: usize,
    colour: Option<usize>,
    text: &str,
) {
    let width = (frame.width / of.max(1) as f64 - 8.0).min(170.0);
    let class = colour.map_or_else(String::new, |colour| format!(" class=\"c{colour}\""));
    let kind = if colour.is_some() {
        "host sends"
    } else {
        "host"
    };
    let _ = writeln!(
        out,
        "<g{class}><title>{}</title><rect class=\"{kind}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BOX}\" rx=\"5\"/>",
        esc(text),
        x - width / 2.0
    );
    svg_text(
        out,
        (x, y + BOX / 2.0 + 4.0),
        "host-name middle",
        &cut(text, width - 8.0),
    );
    out.push_str("</g>\n");
}

#[cfg(test)]
mod tests {
    use super::Radio;
    use crate::scenario::{Adjust, ScenarioFile};

    /// A station that comes back has one line to where it went, and who takes no part is not shown.
    #[test]
    fn stations_and_where_they_go() {
        let text = include_str!("../../../../../scenarios/wlan.toml");
        let file = ScenarioFile::parse("wlan.toml", text).unwrap();
        let cells = file.cells(&Adjust::default()).unwrap();
        let radio = Radio::of(&cells[0].scenario).unwrap();
        assert_eq!(
            radio.alt(),
            "Access points hall (channel 1), garden (channel 6), and stations walker at hall, \
             to garden at 20s; sitter at hall; wired hosts: right."
        );
    }
}
