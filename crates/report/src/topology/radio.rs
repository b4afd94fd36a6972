//! Drawings of networks with radios: one or two switches, access points below the switch of their side, and stations
//! below the access point at which they begin.

use std::fmt::Write as _;

use super::draw::{cut, draw_link_text};
use super::parts::LinkText;
use super::words::{capital, spaced, summarize};
use crate::chart::COLOURS;
use crate::markup::{Frame, esc, svg, svg_text};
use fairwire_scenario::{Scenario, Side, Wireless, Wlan};

/// The height of a box: a name and a description below it.
const BOX: f64 = 40.0;
/// The distance between the rows of boxes.
const BETWEEN: f64 = 54.0;
/// The space above the switches, for three lines on the link.
const ABOVE: f64 = 58.0;
/// The space below the switches, for two lines on the link and the wires.
const BELOW: f64 = 62.0;
/// The least width of an access point, in widths of a station.
const WIDEST_ALONE: f64 = 1.3;

/// The radio part of a network.
pub(super) struct Radio {
    /// Access points and wired hosts at the switches, from left to right.
    attached: Vec<Attached>,
    /// Whether there is a link between two switches.
    is_split: bool,
    /// Settings common to all radios, in words.
    air: Vec<String>,
}

/// An access point with its stations, or a wired host.
struct Attached {
    /// Its name in scenarios.
    name: String,
    /// Its name in the drawing.
    title: String,
    what: String,
    side: Side,
    stations: Vec<Station>,
}

struct Station {
    name: String,
    /// `sends`, `receives`, both or nothing.
    part: String,
    /// Its hand-offs in order: the access point and the time.
    moves: Vec<(String, String)>,
}

impl Radio {
    /// Returns the radio part of `scenario`, whose topology is `wireless`.
    pub(super) fn of(scenario: &Scenario, wireless: &Wireless) -> Self {
        let wlan = &wireless.wlan;
        let flows = || scenario.enabled_flows().map(|(_, flow)| flow);
        let is_end = |name: &str| {
            flows().any(|flow| {
                flow.sender.as_deref() == Some(name) || flow.receiver.as_deref() == Some(name)
            })
        };
        let part = &|name: &str| {
            let sends = flows().any(|flow| flow.sender.as_deref() == Some(name));
            let receives = flows().any(|flow| flow.receiver.as_deref() == Some(name));
            let parts = [(sends, "sends"), (receives, "receives")];
            let parts = parts.into_iter().filter(|(does, _)| *does);
            parts.map(|(_, part)| part).collect::<Vec<_>>().join(", ")
        };
        let wired = |side: Side, name: &'static str| {
            is_end(name).then(|| Attached {
                name: name.to_owned(),
                title: format!("host {name}"),
                what: part(name),
                side,
                stations: Vec::new(),
            })
        };
        let aps = |side: Side| {
            let here = wlan.aps.iter().filter(move |(_, ap)| ap.side == side);
            here.map(move |(name, ap)| Attached {
                name: name.to_owned(),
                title: format!("AP {name}"),
                what: format!("channel {}", ap.channel),
                side,
                stations: stations(wlan, name, part),
            })
        };
        let left = wired(Side::Left, "left").into_iter().chain(aps(Side::Left));
        let right = aps(Side::Right).chain(wired(Side::Right, "right"));
        Self {
            attached: left.chain(right).collect(),
            is_split: wireless.bottleneck.is_some(),
            air: air(wireless),
        }
    }

    fn stations(&self) -> impl Iterator<Item = &Station> {
        self.attached.iter().flat_map(|attached| &attached.stations)
    }

    /// Returns the hand-offs in sentences.
    pub(super) fn moves(&self) -> String {
        let mut text = String::new();
        for station in self.stations().filter(|it| !it.moves.is_empty()) {
            let moves: Vec<String> = station
                .moves
                .iter()
                .map(|(to, at)| format!("to {to} at {at}"))
                .collect();
            let name = capital(&station.name);
            let _ = write!(text, " {name} hands off {}.", moves.join(", "));
        }
        if !text.is_empty() {
            text.push_str(" (Dashed: its later access points.)");
        }
        text
    }

    /// Returns the text alternative of the drawing.
    pub(super) fn alt(&self) -> String {
        let mut text = String::from("A network with radios:");
        for attached in &self.attached {
            let (name, what) = (&attached.title, &attached.what);
            let side = match attached.side {
                Side::Left => "left",
                Side::Right => "right",
            };
            let names: Vec<&str> = attached
                .stations
                .iter()
                .map(|it| it.name.as_str())
                .collect();
            let with = if names.is_empty() { "" } else { ", with " };
            let _ = write!(text, " {name} ({what}, {side}{with}{});", names.join(", "));
        }
        let _ = write!(text, " {}.{}", self.air.join("; "), self.moves());
        text
    }
}

/// Returns the stations that begin at the access point `ap`.
fn stations(wlan: &Wlan, ap: &str, part: &dyn Fn(&str) -> String) -> Vec<Station> {
    let here = wlan.stations.iter().filter(|(_, it)| it.ap == ap);
    here.map(|(name, _)| Station {
        name: name.to_owned(),
        part: part(name),
        moves: wlan
            .handoffs
            .iter()
            .filter(|handoff| handoff.station == name)
            .map(|handoff| (handoff.to.clone(), spaced(&handoff.at.to_string())))
            .collect(),
    })
    .collect()
}

/// Returns all hand-offs in words: `walker to garden at 20 s (outage 300 ms), to hall at 40 s`. An outage is written where
/// the hand-off states its own.
pub(super) fn handoffs(wlan: &Wlan) -> String {
    let of_station = wlan.stations.iter().filter_map(|(name, _)| {
        let own = wlan.handoffs.iter().filter(|it| it.station == name);
        let own = own.map(|it| {
            let outage = it.outage.map(|outage| spaced(&outage.to_string()));
            let outage = outage.map_or(String::new(), |outage| format!(" (outage {outage})"));
            format!("to {} at {}{outage}", it.to, spaced(&it.at.to_string()))
        });
        let own: Vec<String> = own.collect();
        (!own.is_empty()).then(|| format!("{name} {}", own.join(", ")))
    });
    of_station.collect::<Vec<_>>().join("; ")
}

/// Returns the settings common to all radios, in words.
fn air(wireless: &Wireless) -> Vec<String> {
    let (wlan, access) = (&wireless.wlan, &wireless.access);
    let rates = wlan
        .stations
        .iter()
        .map(|(_, it)| it.rate.unwrap_or(wlan.rate).to_string());
    let mut air = vec![format!("frames in the air: {}", summarize(rates, "rates"))];
    if !wlan.handoffs.is_empty() {
        let outages = wlan
            .handoffs
            .iter()
            .map(|it| it.outage.unwrap_or(wlan.outage).to_string());
        let outages = summarize(outages, "durations");
        air.push(format!("a hand-off takes {outages}"));
    }
    let (rate, delay) = (access.rate_words(), access.delay.to_string());
    let (rate, delay) = (spaced(&rate), spaced(&delay));
    air.push(format!("cables to access points: {rate}, {delay}"));
    air
}

/// Draws `radio`, and the bottleneck if it is among `links`; `alt` is the text alternative.
pub(super) fn draw(out: &mut String, links: &[LinkText], alt: &str, radio: &Radio, frame: Frame) {
    let drawing = Drawing::new(radio, frame);
    svg(out, frame, drawing.height, alt);
    let link = links.iter().find(|link| link.name == "bottleneck");
    drawing.wires(out);
    if let Some(link) = link {
        let middle = f64::midpoint(drawing.switches[0], drawing.switches[1]);
        draw_link_text(out, (middle, drawing.switch), link);
    }
    drawing.boxes(out);
    for (number, line) in drawing.below.iter().enumerate() {
        let y = drawing.stations + BOX + 20.0 + number as f64 * 14.0;
        svg_text(out, (frame.width / 2.0, y), "link-text middle", line);
    }
    out.push_str("</svg>\n");
}

struct Drawing<'a> {
    radio: &'a Radio,
    /// The left edge and width of each access point or wired host.
    places: Vec<(f64, f64)>,
    /// The horizontal positions of the switches; equal if there is one switch only.
    switches: [f64; 2],
    switch: f64,
    aps: f64,
    stations: f64,
    /// The lines of text at the bottom.
    below: Vec<String>,
    height: f64,
}

impl<'a> Drawing<'a> {
    fn new(radio: &'a Radio, frame: Frame) -> Self {
        let wide = |attached: &Attached| (attached.stations.len() as f64).max(WIDEST_ALONE);
        let unit = frame.width / radio.attached.iter().map(wide).sum::<f64>().max(1.0);
        let mut from = 0.0;
        let mut places = Vec::new();
        for attached in &radio.attached {
            let width = wide(attached) * unit;
            places.push((from, width));
            from += width;
        }
        let middle = |side: Side| {
            let here = radio
                .attached
                .iter()
                .zip(&places)
                .filter(|(attached, _)| attached.side == side);
            let middles: Vec<f64> = here.map(|(_, (from, width))| from + width / 2.0).collect();
            let count = middles.len() as f64;
            (count > 0.0).then(|| middles.iter().sum::<f64>() / count)
        };
        let ends = [middle(Side::Left), middle(Side::Right)];
        let ends = [
            ends[0].unwrap_or(frame.width * 0.1),
            ends[1].unwrap_or(frame.width * 0.9),
        ];
        let switches = if radio.is_split {
            ends
        } else {
            [f64::midpoint(ends[0], ends[1]); 2]
        };
        // In a narrow frame, each item of the text below needs its own line.
        let all = radio.air.join("; ");
        let below = if frame.is_narrow {
            radio.air.clone()
        } else {
            vec![all]
        };
        let switch = if radio.is_split { ABOVE } else { 12.0 };
        let aps = switch + if radio.is_split { BELOW } else { BETWEEN };
        let stations = aps + BOX + BETWEEN;
        Self {
            radio,
            places,
            switches,
            switch,
            aps,
            stations,
            height: stations + BOX + 12.0 + below.len() as f64 * 14.0,
            below,
        }
    }

    /// Returns the horizontal middle of an access point or wired host.
    fn middle(&self, attached: usize) -> f64 {
        let (from, width) = self.places[attached];
        from + width / 2.0
    }

    /// Returns the horizontal middle of a station and the width of its place.
    fn station(&self, attached: usize, number: usize) -> (f64, f64) {
        let (from, width) = self.places[attached];
        let room = width / self.radio.attached[attached].stations.len().max(1) as f64;
        (from + room * (number as f64 + 0.5), room)
    }

    fn wires(&self, out: &mut String) {
        let [left, right] = self.switches;
        if self.radio.is_split {
            line(out, "wire thick", (left, self.switch), (right, self.switch));
        }
        for (number, attached) in self.radio.attached.iter().enumerate() {
            let switch = match attached.side {
                Side::Left => left,
                Side::Right => right,
            };
            let to = (self.middle(number), self.aps);
            line(out, "wire", (switch, self.switch), to);
            for (place, station) in attached.stations.iter().enumerate() {
                let from = (self.station(number, place).0, self.stations);
                let mut drawn = vec![number];
                for (to, _) in &station.moves {
                    let to = self.radio.attached.iter().position(|ap| ap.name == *to);
                    let Some(to) = to.filter(|to| !drawn.contains(to)) else {
                        continue;
                    };
                    drawn.push(to);
                    line(out, "wire later", from, (self.middle(to), self.aps + BOX));
                }
                line(out, "wire air", from, (self.middle(number), self.aps + BOX));
            }
        }
    }

    fn boxes(&self, out: &mut String) {
        let switches = if self.radio.is_split { 2 } else { 1 };
        for x in &self.switches[..switches] {
            let _ = writeln!(
                out,
                "<circle class=\"router\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"7\"/>",
                self.switch
            );
        }
        let mut sender = 0;
        for (number, attached) in self.radio.attached.iter().enumerate() {
            let room = self.places[number].1.min(170.0);
            let at = (self.middle(number), self.aps);
            labelled(out, at, room, None, (&attached.title, &attached.what));
            for (place, station) in attached.stations.iter().enumerate() {
                let (x, room) = self.station(number, place);
                let colour = station.part.contains("sends").then(|| {
                    sender += 1;
                    (sender - 1) % COLOURS
                });
                let texts = (station.name.as_str(), station.part.as_str());
                labelled(out, (x, self.stations), room.min(170.0), colour, texts);
            }
        }
    }
}

fn line(out: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
        from.0, from.1, to.0, to.1
    );
}

/// Draws a box with a name and a description below it.
fn labelled(
    out: &mut String,
    (x, y): (f64, f64),
    room: f64,
    colour: Option<usize>,
    (name, what): (&str, &str),
) {
    let width = room - 6.0;
    let (group, kind) = match colour {
        Some(colour) => (format!(" class=\"c{colour}\""), "host sends"),
        None => (String::new(), "host"),
    };
    let _ = writeln!(
        out,
        "<g{group}><title>{}, {}</title><rect class=\"{kind}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BOX}\" rx=\"5\"/>",
        esc(name),
        esc(what),
        x - width / 2.0
    );
    // `cut` overestimates the width of letters, so it gets some more room.
    let name = cut(name, width * 1.12);
    svg_text(out, (x, y + 17.0), "host-name middle", &name);
    svg_text(
        out,
        (x, y + 32.0),
        "link-text middle",
        &cut(what, width * 1.12),
    );
    out.push_str("</g>\n");
}
