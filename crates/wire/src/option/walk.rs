//! Iteration over the options of a head.

use std::iter::FusedIterator;

use super::option_type;

/// The options of a packet, in order, not decoded.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Options<'a>(&'a [u8]);

impl<'a> Options<'a> {
    /// Creates the list from the options area of a head, which lies between the fixed part and the Data Offset.
    pub const fn new(area: &'a [u8]) -> Self {
        Self(area)
    }

    /// Returns the whole area, including Padding and bytes that are not valid options.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns whether the area is empty, without even Padding.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over all options in order, Padding and Mandatory included.
    ///
    /// The iterator ends before the first option with an invalid length.
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

/// An option that is not decoded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RawOption<'a> {
    /// The option type.
    pub option_type: u8,
    /// The data, without the type and length bytes; empty for types 0 to 31.
    pub data: &'a [u8],
}

/// An iterator over the options of a packet; see [`Options::iter`].
#[derive(Clone, Debug)]
pub struct OptionIter<'a> {
    rest: &'a [u8],
}

impl<'a> OptionIter<'a> {
    /// Returns the bytes not yet read.
    ///
    /// After the last option it is empty, unless an option had an invalid length. Then it is the area from that option
    /// on, which is ignored.
    pub const fn remainder(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for OptionIter<'a> {
    type Item = RawOption<'a>;

    #[inline]
    fn next(&mut self) -> Option<RawOption<'a>> {
        let (&option_type, rest) = self.rest.split_first()?;
        // RFC 4340, 5.8: types 0 to 31 are single bytes; the others have a length byte.
        if option_type < option_type::FIRST_WITH_LENGTH {
            self.rest = rest;
            return Some(RawOption {
                option_type,
                data: &[],
            });
        }
        // RFC 4340, 5.8: a length that is missing, below two or beyond the area ends the options here. The iterator
        // does not advance, so it returns `None` again on every later call.
        let (&length, rest) = rest.split_first()?;
        let data_len = usize::from(length).checked_sub(2)?;
        let (data, rest) = rest.split_at_checked(data_len)?;
        self.rest = rest;
        Some(RawOption { option_type, data })
    }
}

impl FusedIterator for OptionIter<'_> {}
