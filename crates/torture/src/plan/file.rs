//! Plans as text: JSON with one part per line.

use std::fmt::Write;

use serde::Serialize;

use super::Plan;

impl Plan {
    /// Returns the plan as JSON, with one host, connection, entry or fault per line.
    pub fn to_text(&self) -> String {
        let mut text = String::from("{\n");
        let mut put = |name: &str, value: String| {
            let _ = writeln!(text, "  \"{name}\": {value},");
        };
        put("seed", self.seed.to_string());
        put("udp", self.udp.to_string());
        put("ipv6", self.ipv6.to_string());
        put("healed_ms", self.healed_ms.to_string());
        put("hosts", lines(&self.hosts));
        put("connections", lines(&self.connections));
        put("script", lines(&self.script));
        put("faults", lines(&self.faults));
        put("moments", lines(&self.moments));
        text.truncate(text.len() - 2);
        text.push_str("\n}\n");
        text
    }

    /// Parses a plan written by [`Plan::to_text`] or by hand.
    ///
    /// # Errors
    /// What is wrong with the text, with line and column, or the error of [`Plan::check`].
    pub fn from_text(text: &str) -> Result<Self, String> {
        let plan: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        plan.check()?;
        Ok(plan)
    }
}

fn lines<T: Serialize>(parts: &[T]) -> String {
    if parts.is_empty() {
        return "[]".to_owned();
    }
    let line =
        |part: &T| serde_json::to_string(part).expect("a plan holds nothing but plain values");
    let lines: Vec<String> = parts.iter().map(line).collect();
    format!("[\n    {}\n  ]", lines.join(",\n    "))
}
