//! Settings for simulations alone.
//!
//! They imitate other stacks where these do what the RFCs forbid.

use fairwire_cc::tfrc::Bursts;

use super::{AckRatioFollows, Config};
use crate::error::ConfigError;

impl Config {
    /// Returns an error that names the first setting that only simulations may have.
    ///
    /// A few settings imitate other stacks where these do what the RFCs forbid. The simulator compares such stacks.
    /// On a network they would harm others or the connection itself. [`Endpoint`](crate::Endpoint) takes them, so a
    /// caller that has sockets calls this before it connects or listens.
    ///
    /// # Errors
    /// Fails for [`Bursts::Unbounded`], [`AckRatioFollows::Window`] and
    /// [`keep_sequence_window`](crate::Ccid3Config::keep_sequence_window).
    pub fn check_for_network(&self) -> Result<(), ConfigError> {
        // RFC 5348, 4.6: a burst is at most a round trip's worth of packets.
        if self.ccid3.bursts == Bursts::Unbounded {
            return Err(ConfigError::new(
                "ccid3.bursts",
                "only simulations may send bursts of any size: use Bursts::Bounded",
            ));
        }
        // RFC 4340, 7.5.2: never persistently more than the Sequence Window in a round trip.
        if self.ccid3.keep_sequence_window {
            return Err(ConfigError::new(
                "ccid3.keep_sequence_window",
                "only simulations may send more than the Sequence Window in a round trip: use false",
            ));
        }
        // RFC 4341, 6.1.2: lost acknowledgements double the Ack Ratio.
        if self.ccid2.ack_ratio_follows == AckRatioFollows::Window {
            return Err(ConfigError::new(
                "ccid2.ack_ratio_follows",
                "only simulations may ignore lost acknowledgements: use AckRatioFollows::LostAcks or Use",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{AckRatioFollows, Bursts, Config};

    /// The default is for networks. What RFC 5348, section 4.6, RFC 4340, section 7.5.2, and RFC 4341, section 6.1.2,
    /// forbid is sound (simulations may have it), but not for networks.
    #[test]
    fn imitations_of_violations_are_only_for_simulations() {
        type Imitate = fn(&mut Config);
        assert_eq!(Config::default().check_for_network(), Ok(()));
        let imitations: [(&str, Imitate); 3] = [
            ("ccid3.bursts", |config| {
                config.ccid3.bursts = Bursts::Unbounded;
            }),
            ("ccid3.keep_sequence_window", |config| {
                config.ccid3.keep_sequence_window = true;
            }),
            ("ccid2.ack_ratio_follows", |config| {
                config.ccid2.ack_ratio_follows = AckRatioFollows::Window;
            }),
        ];
        for (field, imitate) in imitations {
            let mut config = Config::default();
            imitate(&mut config);
            assert_eq!(config.check(), Ok(()), "{field}");
            let refused = config.check_for_network().expect_err(field);
            assert_eq!(refused.field(), field);
        }
    }
}
