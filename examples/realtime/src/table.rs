//! The result as a table, with 95 % intervals over the seeds.

use std::fmt;

use fairwire_measure::{Confidence, Moments};

use crate::viewer::Outcome;

pub struct Table {
    rows: Vec<[String; 6]>,
}

impl Table {
    pub fn new() -> Self {
        let head = [
            "",
            "in time %",
            "late %",
            "incomplete %",
            "95th delay ms",
            "in time kbit/s",
        ];
        Self {
            rows: vec![head.map(str::to_owned)],
        }
    }

    pub fn row(&mut self, name: &str, outcomes: &[Outcome]) {
        let percent =
            |share: fn(&Outcome) -> f64| mean(outcomes.iter().map(|o| 100.0 * share(o)), 1);
        let delays = outcomes.iter().filter_map(|outcome| outcome.delay_95);
        self.rows.push([
            name.to_owned(),
            percent(|outcome| outcome.in_time),
            percent(|outcome| outcome.late),
            percent(|outcome| outcome.incomplete),
            mean(delays.map(|delay| delay.as_secs_f64() * 1_000.0), 0),
            mean(outcomes.iter().map(|outcome| outcome.kbit_per_s), 0),
        ]);
    }
}

/// Returns the mean of the values with its interval.
pub fn mean(values: impl Iterator<Item = f64>, decimals: usize) -> String {
    let mut moments = Moments::new();
    values.for_each(|value| moments.push(value));
    match moments.estimate(Confidence::STUDENT_95) {
        Some(estimate) => format!("{estimate:.decimals$}"),
        None => "-".to_owned(),
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        for row in &self.rows {
            write!(f, "{:<1$}", row[0], width(0))?;
            for (column, cell) in row.iter().enumerate().skip(1) {
                write!(f, "  {cell:>0$}", width(column))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
