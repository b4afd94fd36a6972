//! The description of a table of settings, from which everything else follows.
//!
//! A field of [`settings`] states the meaning of a key, its type, its form in files, its default and its limit:
//!
//! ```text
//! /// Minimum retransmission timeout.
//! pub min_rto: Duration as ["Time"] = Duration::from_millis(200), "at least 1 ms and at most 60 s";
//! ```
//!
//! The form after `as` is a type of [`written`](super::written); `as optional` leaves the key out of files while it is
//! `None`. Types with a text form of their own need none. The [`Limit`](super::limit::Limit) is in words.

/// Defines a table of settings. `$prefix` comes before its keys in a [`Config`](crate::Config).
macro_rules! settings {
    (
        $prefix:literal
        $(#[$about:meta])*
        pub struct $table:ident {
            $(
                $(#[$meaning:meta])*
                pub $key:ident: $type:ty
                    $(as $(optional [$optional:tt])? $([$form:tt])?)?
                    = $default:expr
                    $(, $limit:literal)?;
            )*
        }
    ) => {
        $(#[$about])*
        #[cfg_attr(
            feature = "settings",
            derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
            serde(deny_unknown_fields, default)
        )]
        #[non_exhaustive]
        pub struct $table {
            $(
                $(#[$meaning])*
                $(
                    $(#[cfg_attr(
                        feature = "settings",
                        serde(with = $optional, skip_serializing_if = "Option::is_none")
                    )])?
                    $(#[cfg_attr(feature = "settings", serde(with = $form))])?
                )?
                $(#[cfg_attr(feature = "settings", schemars(transform = Limit($limit)))])?
                pub $key: $type,
            )*
        }

        impl Default for $table {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl $table {
            /// Returns an error that names the first value outside its limits.
            fn check_limits(&self) -> Result<(), ConfigError> {
                $($(Limit($limit).check(concat!($prefix, stringify!($key)), &self.$key)?;)?)*
                Ok(())
            }

            /// Sets `key` to a value as files have it. A key that the table does not have is refused.
            #[cfg(feature = "settings")]
            pub(in crate::config) fn set_value(
                &mut self,
                key: &str,
                value: serde_json::Value,
            ) -> Result<(), serde_json::Error> {
                let only = serde_json::Map::from_iter([(key.to_owned(), value)]);
                let new: Self = serde_json::from_value(only.into())?;
                match key {
                    $(stringify!($key) => self.$key = new.$key,)*
                    _ => {}
                }
                Ok(())
            }
        }
    };
}

pub(super) use settings;
