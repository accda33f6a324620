//! Progress while an experiment runs: one live line on a terminal, log lines elsewhere.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use lengthwise_lab::report::{Together, WorkerEpoch};
use lengthwise_lab::{Error, Experiment, Progress, Trained, Watch};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::output::STOPPED;

/// Whether a stop was requested.
#[derive(Clone, Debug)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Heard at the first Ctrl-C; a second one ends the command at once.
    pub(super) fn on_signals() -> Result<Self, Error> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let end = Arc::clone(&asked);
            signal_hook::flag::register_conditional_shutdown(signal, STOPPED.into(), end)
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&asked)))
                .map_err(|error| {
                    Error::new(format!("cannot listen for Ctrl-C: {error}"), "try again")
                })?;
        }
        Ok(Self(asked))
    }

    /// Whether it was.
    pub(super) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often a log says where it is, within an epoch.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Shows how far an experiment is.
pub(super) struct Display {
    bar: Option<ProgressBar>,
    quiet: bool,
    trainings: Vec<Trained>,
    /// For each training, epochs done when this began and now, with the part of one under way.
    done: Vec<(Option<f64>, f64)>,
    begun: Instant,
    said: Instant,
    stop: Stop,
}

impl Display {
    pub(super) fn new(
        experiment: &Experiment,
        engine: &str,
        quiet: bool,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let trainings = experiment.trainings()?;
        let live = !quiet && io::stderr().is_terminal();
        let bar = live.then(|| {
            let bar = ProgressBar::new(1000 * epochs(&trainings));
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent:>3} %\n{wide_msg}")
            {
                bar.set_style(style);
            }
            bar
        });
        let display = Self {
            bar,
            quiet,
            done: vec![(None, 0.0); trainings.len()],
            trainings,
            begun: Instant::now(),
            said: Instant::now(),
            stop: stop.clone(),
        };
        display.say(&format!("{}\non {engine}", experiment.title));
        Ok(display)
    }

    fn say(&self, text: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.println(text),
            None => _ = writeln!(io::stderr(), "{text}"),
        }
    }

    /// How much time is left, if the rest goes as what was done since this began.
    fn left(&self) -> Option<Duration> {
        let all = epochs(&self.trainings) as f64;
        let before: f64 = self.done.iter().map(|(first, now)| first.unwrap_or(*now)).sum();
        let now: f64 = self.done.iter().map(|(_, now)| now).sum();
        let share = (all - now) / (now - before);
        let seconds = self.begun.elapsed().as_secs_f64() * share;
        (0.0..1e9).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
    }

    fn note(&mut self, training: usize, done: f64, before: f64) {
        let (first, now) = &mut self.done[training];
        first.get_or_insert(before);
        *now = done;
        if let Some(bar) = &self.bar {
            let now: f64 = self.done.iter().map(|(_, now)| now).sum();
            bar.set_position((1000.0 * now) as u64);
        }
    }

    fn label(&self, training: usize) -> String {
        let Trained { name, seed, .. } = &self.trainings[training];
        format!("{name}, seed {seed}")
    }

    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The epochs of all trainings together.
fn epochs(trainings: &[Trained]) -> u64 {
    trainings.iter().map(|training| u64::from(training.epochs)).sum()
}

/// How long workers waited, and for which of them longer than by the plan.
fn waiting(together: &Together) -> String {
    let workers = &together.workers;
    let percent = |share: f64| format!("{:.0}", 100.0 * share);
    let mean = |share: &dyn Fn(&WorkerEpoch) -> f64| {
        workers.iter().map(share).sum::<f64>() / workers.len().max(1) as f64
    };
    let (idle, predicted) = (mean(&WorkerEpoch::idle), mean(&|worker| worker.predicted));
    let each = if workers.len() <= MOST_SHOWN {
        let each: Vec<String> = workers.iter().map(|worker| percent(worker.idle())).collect();
        format!(" ({})", each.join(", "))
    } else {
        String::new()
    };
    let slowest = (0..).zip(workers).min_by(|(_, one), (_, other)| one.wait.total_cmp(&other.wait));
    let slow = match slowest {
        Some((rank, _)) if idle > predicted + SLOW => format!("; others wait for worker {rank}"),
        _ => String::new(),
    };
    let planned = match predicted {
        known if known.is_finite() => format!(", {} % by the plan", percent(known)),
        _ => String::new(),
    };
    format!(", waiting {} %{each}{planned}{slow}", percent(idle))
}

/// Of how many workers each is shown on a line.
const MOST_SHOWN: usize = 8;
/// How much more than by the plan workers may wait before one of them is called slow.
const SLOW: f64 = 0.1;

/// Shows nothing.
pub(super) struct Unseen(pub(super) Stop);

impl Watch for Unseen {
    fn step(&mut self, _: usize, _: &Progress, _: Option<usize>, _: f64) {}

    fn epoch(&mut self, _: usize, _: &Progress) {}

    fn stop(&self) -> bool {
        self.0.asked()
    }
}

impl Watch for Display {
    fn step(&mut self, training: usize, progress: &Progress, steps: Option<usize>, loss: f64) {
        let steps = steps.unwrap_or(1) as f64;
        let over = progress.epochs.len() as f64;
        let taken = progress.steps_of_epoch() as f64;
        self.note(training, over + taken / steps, over + (taken - 1.0) / steps);
        if self.bar.is_none() && self.said.elapsed() < LOG_EVERY {
            return;
        }
        self.said = Instant::now();
        let current = &progress.current;
        let rate = current.frames as f64 / current.seconds;
        let left = self.left().map(|left| format!(", {} left", HumanDuration(left)));
        let text = format!(
            "{}: epoch {}/{}, step {taken}/{steps}, loss {loss:.4}, {rate:.0} frames/s{}",
            self.label(training),
            over + 1.0,
            self.trainings[training].epochs,
            left.unwrap_or_default(),
        );
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None => self.say(&text),
        }
    }

    fn epoch(&mut self, training: usize, progress: &Progress) {
        let over = progress.epochs.len() as f64;
        self.note(training, over, over - 1.0);
        self.said = Instant::now();
        let Some(epoch) = progress.epochs.last() else { return };
        let examined = epoch.validation.as_ref().map(|validation| {
            format!(", validation {:.4}, error {:.1} %", validation.loss, 100.0 * validation.error)
        });
        let waiting = epoch.together.as_ref().map(waiting).unwrap_or_default();
        self.say(&format!(
            "{}: epoch {}/{} in {:.1} s, loss {:.4}{}{waiting}",
            self.label(training),
            epoch.epoch,
            self.trainings[training].epochs,
            epoch.seconds,
            epoch.loss,
            examined.unwrap_or_default(),
        ));
    }

    fn stop(&self) -> bool {
        self.stop.asked()
    }
}
