//! JSON with a line for each thing, not for each number.
//!
//! `results.json` is mostly long lists: every value of every run, every point of every series. Written
//! prettily to the last bracket, a number takes a line and its indentation more room than itself. Here what
//! stands deeper than `open` brackets is written without breaks: a series is one line, a value is one.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// `json` as text that ends in a newline; brackets are broken into lines down to a depth of `open`.
pub(super) fn lines(json: &Value, open: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let shape = Lines {
        open,
        depth: 0,
        filled: false,
    };
    json.serialize(&mut Serializer::with_formatter(&mut text, shape))
        .map_err(io::Error::other)?;
    text.push(b'\n');
    Ok(text)
}

struct Lines {
    open: usize,
    /// How many brackets are open.
    depth: usize,
    /// Does anything stand in the bracket that closes next?
    filled: bool,
}

impl Lines {
    fn begin<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        out.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        let breaks = self.filled && self.depth <= self.open;
        self.depth -= 1;
        self.filled = true;
        if breaks {
            self.line(out)?;
        }
        out.write_all(bracket)
    }

    fn item<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        self.filled = true;
        if self.depth <= self.open {
            return self.line(out);
        }
        if first { Ok(()) } else { out.write_all(b" ") }
    }

    fn line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| out.write_all(b" "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::lines;

    /// Two brackets deep each thing has its line, deeper none; what is read back is what was written.
    #[test]
    fn a_line_for_each_thing() {
        let json = json!({ "name": "n", "runs": [{ "values": [1.5, null, 3] }, {}], "none": [] });
        let text = lines(&json, 2).expect("writes");
        let text = String::from_utf8(text).expect("is text");
        let expected = "{\n \"name\": \"n\",\n \"none\": [],\n \"runs\": [\n  {\"values\": [1.5, null, 3]},\n  {}\n ]\n}\n";
        assert_eq!(text, expected);
        let read: Value = serde_json::from_str(&text).expect("reads");
        assert_eq!(read, json);
    }
}
