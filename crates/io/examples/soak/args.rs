//! The command-line arguments.

use std::time::Duration;

/// The largest number of clients: one in 16 has its own socket, and a process may open about 1,000 files.
const MOST_CONNECTIONS: usize = 5_000;

/// The longest run: one week.
const MOST_MINUTES: f64 = 10_080.0;

/// The usage line.
const USAGE: &str = "usage: soak [minutes [connections [seed]]]";

/// The duration, the number of clients and the seed.
#[derive(Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) churn: Duration,
    pub(crate) connections: usize,
    pub(crate) seed: u64,
}

impl Plan {
    /// Reads the arguments after the program's name. The defaults are 5 minutes, 3,000 connections and seed 4340.
    ///
    /// # Errors
    /// A message that says what is wrong and what is expected.
    pub(crate) fn read(given: &[String]) -> Result<Self, String> {
        if given.len() > 3 {
            return Err(format!("too many arguments; {USAGE}"));
        }
        let argument = |n: usize, default| given.get(n).map_or(default, String::as_str);
        Ok(Self {
            churn: minutes(argument(0, "5"))?,
            connections: connections(argument(1, "3000"))?,
            seed: seed(argument(2, "4340"))?,
        })
    }
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: Option<f64> = text.parse().ok();
    let minutes = minutes.filter(|minutes| *minutes <= MOST_MINUTES);
    let churn = minutes.and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok());
    churn.filter(|churn| !churn.is_zero()).ok_or_else(|| {
        format!("minutes: '{text}', expected a number above 0, at most {MOST_MINUTES}; {USAGE}")
    })
}

fn connections(text: &str) -> Result<usize, String> {
    let connections: Option<usize> = text.parse().ok();
    connections
        .filter(|connections| (1..=MOST_CONNECTIONS).contains(connections))
        .ok_or_else(|| {
            format!(
                "connections: '{text}', expected a whole number, 1 to {MOST_CONNECTIONS}; {USAGE}"
            )
        })
}

fn seed(text: &str) -> Result<u64, String> {
    let expected = || {
        format!(
            "seed: '{text}', expected a whole number, 0 to {}; {USAGE}",
            u64::MAX
        )
    };
    text.parse().map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Plan;

    fn read(given: &[&str]) -> Result<Plan, String> {
        let given: Vec<String> = given.iter().map(ToString::to_string).collect();
        Plan::read(&given)
    }

    /// All three arguments are read, and each has a default.
    #[test]
    fn arguments_are_read() {
        let plan = |secs, connections, seed| {
            let churn = Duration::from_secs(secs);
            Ok(Plan {
                churn,
                connections,
                seed,
            })
        };
        assert_eq!(read(&[]), plan(300, 3_000, 4_340));
        assert_eq!(read(&["0.5"]), plan(30, 3_000, 4_340));
        assert_eq!(
            read(&["10080", "5000", "18446744073709551615"]),
            plan(604_800, 5_000, u64::MAX)
        );
    }

    /// Invalid arguments are refused, with the argument's name and the expected value.
    #[test]
    fn senseless_arguments_are_refused() {
        for minutes in [
            "1e300", "10080.1", "inf", "nan", "-1", "0", "-0", "1e-12", "", "five",
        ] {
            let error = read(&[minutes]).expect_err(minutes);
            let says = format!(
                "minutes: '{minutes}', expected a number above 0, at most 10080; usage: soak "
            );
            assert!(error.starts_with(&says), "{error}");
        }
        for connections in ["0", "5001", "-1", "1.5", "nan"] {
            let error = read(&["1", connections]).expect_err(connections);
            let says = format!(
                "connections: '{connections}', expected a whole number, 1 to 5000; usage: "
            );
            assert!(error.starts_with(&says), "{error}");
        }
        for seed in ["-1", "1.5", "18446744073709551616"] {
            let error = read(&["1", "1", seed]).expect_err(seed);
            assert!(
                error.starts_with(&format!("seed: '{seed}', expected ")),
                "{error}"
            );
        }
        let error = read(&["1", "1", "1", "1"]).expect_err("one too many");
        assert!(error.starts_with("too many arguments; usage: "), "{error}");
    }
}
