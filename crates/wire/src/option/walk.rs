//! Walking the options of a head.

use std::iter::FusedIterator;

use super::option_type;

/// The options of a packet, in order, as bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Options<'a>(&'a [u8]);

impl<'a> Options<'a> {
    /// The options area of a head: everything between its fixed part and its Data Offset.
    pub const fn new(area: &'a [u8]) -> Self {
        Self(area)
    }

    /// The whole area, Padding and what could not be walked included.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Are there none, not even Padding?
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Every option in order, Padding and Mandatory included, up to the first whose length makes
    /// no sense.
    #[inline]
    pub const fn iter(self) -> OptionIter<'a> {
        OptionIter { rest: self.0 }
    }
}

impl<'a> IntoIterator for Options<'a> {
    type Item = RawOption<'a>;
    type IntoIter = OptionIter<'a>;
    fn into_iter(self) -> OptionIter<'a> {
        self.iter()
    }
}

/// An option as it stands in a head.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RawOption<'a> {
    /// Its type.
    pub option_type: u8,
    /// Its data, without type and length; empty for types 0 to 31.
    pub data: &'a [u8],
}

/// Iterator over the options of a packet; see [`Options::iter`].
#[derive(Clone, Debug)]
pub struct OptionIter<'a> {
    rest: &'a [u8],
}

impl<'a> OptionIter<'a> {
    /// The bytes not yet walked. Not empty after the last option if an option's length made no
    /// sense: the area from that option on, which is ignored.
    pub const fn remainder(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for OptionIter<'a> {
    type Item = RawOption<'a>;

    #[inline]
    fn next(&mut self) -> Option<RawOption<'a>> {
        let (&option_type, rest) = self.rest.split_first()?;
        // RFC 4340, 5.8: types 0 to 31 are single bytes, the others have a length byte.
        if option_type < option_type::FIRST_WITH_LENGTH {
            self.rest = rest;
            return Some(RawOption {
                option_type,
                data: &[],
            });
        }
        // RFC 4340, 5.8: a length that is missing, below two or beyond the area ends the options
        // here; the iterator stays where it is and keeps saying so.
        let (&length, rest) = rest.split_first()?;
        let data_len = usize::from(length).checked_sub(2)?;
        let (data, rest) = rest.split_at_checked(data_len)?;
        self.rest = rest;
        Some(RawOption { option_type, data })
    }
}

impl FusedIterator for OptionIter<'_> {}
