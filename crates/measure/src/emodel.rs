//! The E-model (ITU-T G.107), narrow band: the quality of a telephone call.
//!
//! The rating R of a perfect connection is about 93. Noise, loudness, delay, coding and lost packets reduce it:
//! `R = Ro - Is - Id - Ie_eff + A`. [`mos`] converts a rating to the mean opinion score of listeners, 1 to 4.5 (annex B).
//!
//! Quantities that do not depend on packets (noise, loudness, room, echo paths) have the default values of table 2.
//! They are constants in this file, next to their formulas. Delay, loss and codec are parameters. The receiver plays
//! the packets that it has, so jitter counts only through packets that arrive too late.

use libm::{exp, log10, pow};

/// The effect of a codec on speech (ITU-T G.113, appendix I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeechCodec {
    /// The equipment impairment without any loss (`Ie`).
    pub impairment: f64,
    /// The packet-loss robustness, per cent: at this random loss, half of the remaining quality is lost (`Bpl`).
    pub robustness: f64,
}

impl SpeechCodec {
    /// G.711, 64 kbit/s, with silence in place of a lost packet.
    pub const G711: Self = Self {
        impairment: 0.0,
        robustness: 4.3,
    };
    /// G.711 with the loss concealment of its appendix I.
    pub const G711_CONCEALED: Self = Self {
        impairment: 0.0,
        robustness: 25.1,
    };
    /// G.729A with voice activity detection, 8 kbit/s, and its own loss concealment.
    pub const G729A: Self = Self {
        impairment: 11.0,
        robustness: 19.0,
    };

    /// Returns the effective impairment (`Ie_eff`, clause 7.5) at a loss of `loss`, 0.0 to 1.0.
    ///
    /// `burst_ratio` is the mean length of loss bursts relative to that of random losses.
    pub fn effective_impairment(self, loss: f64, burst_ratio: f64) -> f64 {
        let percent = 100.0 * loss;
        if percent <= 0.0 {
            return self.impairment;
        }
        let share = percent / (percent / burst_ratio + self.robustness);
        self.impairment + (95.0 - self.impairment) * share
    }
}

/// The parameters of a connection in the E-model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// The one-way delay from mouth to ear, ms (`Ta = T = Tr / 2`).
    pub delay_ms: f64,
    /// The fraction of packets missing when they should be played, 0.0 to 1.0 (`Ppl`).
    pub loss: f64,
    /// The burst ratio: 1 for random losses, more for losses in bursts (`BurstR`).
    pub burst_ratio: f64,
    /// The codec.
    pub codec: SpeechCodec,
    /// The talker echo loudness rating, dB: how much quieter than speech the echo is; 65 is the default (`TELR`).
    pub echo_loss_db: f64,
}

impl Call {
    /// Creates a call with the default echo loss and random losses.
    pub const fn new(codec: SpeechCodec, delay_ms: f64, loss: f64) -> Self {
        Self {
            delay_ms,
            loss,
            burst_ratio: 1.0,
            codec,
            echo_loss_db: 65.0,
        }
    }

    /// Returns the rating R: 93.2 for G.711 without delay and loss. It may be below zero.
    pub fn rating(&self) -> f64 {
        let line = Line::DEFAULT;
        let (noise, ro) = (line.noise(), line.signal_to_noise());
        let loss = self.codec.effective_impairment(self.loss, self.burst_ratio);
        ro - self.simultaneous(&line, noise, ro) - self.delay_impairment(&line, noise, ro) - loss
    }

    /// Returns the simultaneous impairment (`Is`, clause 7.3): loudness, side tone, quantising.
    fn simultaneous(&self, line: &Line, noise: f64, ro: f64) -> f64 {
        let x = line.overall_loudness() + 0.2 * (64.0 + noise - line.receive_loudness);
        let too_loud = 20.0 * (root(8.0, &[1.0, x / 8.0]) - x / 8.0);
        let echo = exp(-self.delay_ms / 4.0) * ten_to(-self.echo_loss_db / 10.0);
        let masking = -10.0 * log10(ten_to(-line.side_tone / 10.0) + echo);
        let side_tone = 12.0 * root(8.0, &[1.0, (masking - 13.0) / 6.0])
            - 28.0 * root(35.0, &[1.0, (masking + 1.0) / 19.4])
            - 13.0 * root(13.0, &[1.0, (masking - 3.0) / 33.0])
            + 29.0;
        // One quantising unit: Q = 37 dB.
        let g = 1.07 + 0.258 * 37.0 + 0.0602 * 37.0 * 37.0;
        let y = (ro - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
        let z = 46.0 / 30.0 - g / 40.0;
        let quantising = 15.0 * log10(1.0 + ten_to(y) + ten_to(z));
        too_loud + side_tone + quantising
    }

    /// Returns the delay impairment (`Id`, clause 7.4): talker's echo, listener's echo and too long a delay.
    fn delay_impairment(&self, line: &Line, noise: f64, ro: f64) -> f64 {
        let t = self.delay_ms;
        let roe = -1.5 * (noise - line.receive_loudness);
        let terv = self.echo_loss_db - 40.0 * log10((1.0 + t / 10.0) / (1.0 + t / 150.0))
            + 6.0 * exp(-0.3 * t * t);
        let re = 80.0 + 2.5 * (terv - 14.0);
        let talker = (hyperbola(roe - re, 100.0) - 1.0) * (1.0 - exp(-t));
        let rle = 10.5 * (line.listener_echo_loss + 7.0) * pow(2.0 * t + 1.0, -0.25);
        let listener = hyperbola(ro - rle, 169.0);
        talker + listener + absolute_delay_impairment(t)
    }
}

/// Returns the impairment by absolute delay (`Idd`, clause 7.4): zero up to 100 ms.
fn absolute_delay_impairment(delay_ms: f64) -> f64 {
    if delay_ms <= 100.0 {
        return 0.0;
    }
    let x = log10(delay_ms / 100.0) / log10(2.0);
    25.0 * (root(6.0, &[1.0, x]) - 3.0 * root(6.0, &[1.0, x / 3.0]) + 2.0)
}

/// The properties of the line and the telephones that do not depend on packets (G.107, table 2).
struct Line {
    send_loudness: f64,
    receive_loudness: f64,
    side_tone: f64,
    listener_echo_loss: f64,
    room_noise: f64,
    telephone_sides: (f64, f64),
    circuit_noise: f64,
    noise_floor: f64,
}

impl Line {
    const DEFAULT: Self = Self {
        send_loudness: 8.0,
        receive_loudness: 2.0,
        side_tone: 15.0,
        listener_echo_loss: 110.0,
        room_noise: 35.0,
        telephone_sides: (3.0, 3.0),
        circuit_noise: -70.0,
        noise_floor: -64.0,
    };

    fn overall_loudness(&self) -> f64 {
        self.send_loudness + self.receive_loudness
    }

    /// Returns the total noise relative to the line (`No`, clause 7.2), dBm0p.
    fn noise(&self) -> f64 {
        let (send, receive) = self.telephone_sides;
        let room = self.room_noise;
        let over = room - self.overall_loudness() - send - 14.0;
        let sender = room - self.send_loudness - send - 100.0 + 0.004 * over * over;
        let heard = room + 10.0 * log10(1.0 + ten_to((10.0 - self.side_tone - receive) / 10.0));
        let beyond = heard - 35.0;
        let receiver = self.receive_loudness - 121.0 + heard + 0.008 * beyond * beyond;
        let floor = self.noise_floor + self.receive_loudness;
        let all = [self.circuit_noise, sender, receiver, floor];
        10.0 * log10(all.iter().map(|noise| ten_to(noise / 10.0)).sum())
    }

    /// Returns the basic signal-to-noise ratio (`Ro`, clause 7.2), dB.
    fn signal_to_noise(&self) -> f64 {
        15.0 - 1.5 * (self.send_loudness + self.noise())
    }
}

/// Returns the mean opinion score for a rating, 1 to 4.5 (G.107, annex B).
pub fn mos(rating: f64) -> f64 {
    if rating <= 0.0 {
        return 1.0;
    }
    if rating >= 100.0 {
        return 4.5;
    }
    let score = 1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6;
    // Below a rating of 6.5 the polynomial gives less than the worst possible score.
    score.max(1.0)
}

fn ten_to(x: f64) -> f64 {
    pow(10.0, x)
}

/// Returns the n-th root of the sum of n-th powers.
fn root(n: f64, of: &[f64]) -> f64 {
    let sum: f64 = of.iter().map(|x| pow(x.abs(), n)).sum();
    pow(sum, 1.0 / n)
}

/// Returns `x / 2 + sqrt(x^2 / 4 + room)`.
fn hyperbola(x: f64, room: f64) -> f64 {
    x / 2.0 + (x * x / 4.0 + room).sqrt()
}

#[cfg(test)]
mod tests {
    use super::{Call, SpeechCodec, absolute_delay_impairment, mos};

    fn rating(codec: SpeechCodec, delay_ms: f64, loss: f64) -> f64 {
        Call::new(codec, delay_ms, loss).rating()
    }

    /// The check of G.107 itself: all defaults give R = 93.2 and a score of 4.41.
    #[test]
    fn defaults_give_93() {
        let default = rating(SpeechCodec::G711, 0.0, 0.0);
        assert!((default - 93.2).abs() < 0.05, "{default}");
        assert!((mos(default) - 4.41).abs() < 0.005, "{}", mos(default));
    }

    /// The scores of table B.1 hold: its categories reach from very satisfied to nearly all users dissatisfied.
    #[test]
    fn scores_of_the_categories() {
        for (rating, score) in [
            (90.0, 4.34),
            (80.0, 4.03),
            (70.0, 3.60),
            (60.0, 3.10),
            (50.0, 2.58),
        ] {
            assert!(
                (mos(rating) - score).abs() < 0.01,
                "{rating}: {}",
                mos(rating)
            );
        }
        assert_eq!((mos(-1.0), mos(3.0), mos(100.0)), (1.0, 1.0, 4.5));
    }

    /// Delay alone: no impairment up to 100 ms. By hand, 25 (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2) = 3.04 at 200 ms, and
    /// 24.07 at 400 ms.
    #[test]
    fn pure_delay() {
        assert_eq!(absolute_delay_impairment(100.0), 0.0);
        assert!(
            (absolute_delay_impairment(200.0) - 3.044).abs() < 0.001,
            "{}",
            absolute_delay_impairment(200.0)
        );
        assert!(
            (absolute_delay_impairment(400.0) - 24.070).abs() < 0.001,
            "{}",
            absolute_delay_impairment(400.0)
        );
    }

    /// With echo, the delay impairment follows the line that Cole and Rosenbluth (2001) fitted to the model: 0.024 d +
    /// 0.11 (d - 177.3) beyond 177.3 ms. Their fit is within one point of R up to 300 ms.
    #[test]
    fn the_known_fit_of_delay() {
        let none = rating(SpeechCodec::G711, 0.0, 0.0);
        for delay in [50.0, 100.0, 150.0, 200.0, 250.0, 300.0] {
            let fit = 0.024 * delay + 0.11 * f64::max(delay - 177.3, 0.0);
            let ours = none - rating(SpeechCodec::G711, delay, 0.0);
            assert!((ours - fit).abs() < 1.0, "{delay} ms: {ours} for {fit}");
        }
    }

    /// A loss of 1 % takes 95 / 5.3 = 17.9 from G.711, 95 / 26.1 = 3.6 with concealment, and 11 + 84 / 20 = 15.2 from
    /// G.729A. Bursts twice as long as random ones take 95 / 4.8 = 19.8 from G.711.
    #[test]
    fn loss_takes_what_the_codec_lets_it() {
        let none = rating(SpeechCodec::G711, 0.0, 0.0);
        for (codec, burst_ratio, expected) in [
            (SpeechCodec::G711, 1.0, 17.925),
            (SpeechCodec::G711_CONCEALED, 1.0, 3.640),
            (SpeechCodec::G729A, 1.0, 15.2),
            (SpeechCodec::G711, 2.0, 19.792),
        ] {
            let call = Call {
                burst_ratio,
                ..Call::new(codec, 0.0, 0.01)
            };
            let taken = none - call.rating();
            assert!((taken - expected).abs() < 0.001, "{codec:?}: {taken}");
        }
        // A call that loses all packets has the score of G.711's full loss impairment.
        assert_eq!(
            mos(rating(SpeechCodec::G711, 0.0, 1.0)),
            mos(none - 95.0 * 100.0 / 104.3)
        );
    }

    /// More echo lowers the rating, and only if there is delay.
    #[test]
    fn echo_needs_delay() {
        let with = |echo_loss_db, delay_ms| {
            Call {
                echo_loss_db,
                ..Call::new(SpeechCodec::G711, delay_ms, 0.0)
            }
            .rating()
        };
        assert!((with(35.0, 0.0) - with(65.0, 0.0)).abs() < 0.5);
        assert!(with(35.0, 150.0) < with(65.0, 150.0) - 20.0);
    }
}
