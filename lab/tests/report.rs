//! The page of a training without a browser: it is there for every kind of records.

use lengthwise_lab::report::{
    Scaling, Together, Training, TrainingEpoch, TrainingRun, Validation, WorkerEpoch,
};
use lengthwise_report::Look;

fn epoch(epoch: u32, loss: f64, validation: Option<f64>) -> TrainingEpoch {
    TrainingEpoch {
        epoch,
        seconds: 2.0,
        steps: 10,
        batches: 10,
        sequences: 160,
        frames: 900,
        cells: 1000,
        shapes: 7,
        step_mix: None,
        peak_bytes: 0,
        loss,
        validation: validation.map(|error| Validation { loss, error, more: Vec::new() }),
        together: None,
    }
}

fn training(runs: Vec<(&str, Vec<TrainingEpoch>)>) -> Training {
    let run = |(seed, (name, epochs)): (u64, (&str, Vec<TrainingEpoch>))| TrainingRun {
        name: name.to_owned(),
        settings: "shuffled, budget sequences:16".to_owned(),
        seed,
        digest: None,
        planned_epochs: None,
        epochs,
        ended: false,
    };
    Training {
        title: "</title><script>alert(1)</script>".to_owned(),
        about: vec![("<b>".to_owned(), "</dl>".to_owned())],
        error: "errors <i>".to_owned(),
        runs: (0..).zip(runs).map(run).collect(),
        notes: vec!["<script>alert(2)</script>".to_owned()],
        pairs: vec![("<b>".to_owned(), "nobody".to_owned())],
        scaling: Vec::new(),
        higher: Vec::new(),
    }
}

/// Whatever was trained, there is a page without numbers that are none.
#[test]
fn every_kind_of_records_has_a_page() {
    let whole = |end: f64| -> Vec<TrainingEpoch> {
        (1..=4).map(|at| epoch(at, 1.0, Some(end / f64::from(at)))).collect()
    };
    let lost = || vec![epoch(1, 2.0, Some(0.5)), epoch(2, f64::NAN, Some(f64::NAN))];
    let endless = || vec![epoch(1, 2.0, Some(0.5)), epoch(2, f64::INFINITY, Some(1.0))];
    let mut still = whole(0.4);
    for epoch in &mut still {
        (epoch.seconds, epoch.frames, epoch.cells, epoch.sequences) = (0.0, 0, 0, 0);
    }
    for (what, runs, figures) in [
        ("no runs", vec![], 0),
        ("no epochs", vec![("a", vec![])], 0),
        ("one epoch", vec![("a", vec![epoch(1, 1.0, Some(0.5))])], 1),
        ("no validation", vec![("a", vec![epoch(1, 1.0, None), epoch(2, 0.9, None)])], 1),
        ("one run", vec![("a", whole(0.5))], 5),
        ("one name", vec![("a", whole(0.5)), ("a", whole(0.6))], 5),
        ("two names", vec![("a", whole(0.5)), ("b", whole(0.6))], 6),
        ("equal", vec![("a", whole(0.5)), ("b", whole(0.5))], 6),
        ("no errors at all", vec![("a", whole(0.0)), ("b", whole(0.0))], 6),
        ("lost", vec![("a", lost())], 1),
        ("one lost", vec![("a", whole(0.5)), ("b", whole(0.6)), ("b", lost())], 5),
        ("endless", vec![("a", endless()), ("b", whole(0.5))], 5),
        ("first lost", vec![("a", lost()), ("b", whole(0.5)), ("c", whole(0.6))], 6),
        ("no time", vec![("a", still)], 4),
        ("vast", vec![("a", whole(1e300)), ("b", whole(1e-300))], 6),
        ("hostile", vec![("</script><b>\u{1b}[31m", whole(0.5)), ("\u{202e}", whole(0.4))], 6),
    ] {
        let training = training(runs);
        let page = training.page();
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{what}");
        // The script of the page, and its data.
        assert_eq!(page.matches("<script").count(), 2, "{what}");
        assert_eq!(page.matches("<figure").count(), figures, "{what}");
        for wrong in ["NaN", "inf\"", "inf ", ">inf", "<b>", "<i>", "\u{1b}", "\u{202e}"] {
            assert!(!shown(&page).contains(wrong), "{wrong} in {what}");
        }
        // A section without a figure says why there is none.
        for id in ["loss", "seconds", "error", "trade-off"] {
            let section = section(&page, id).unwrap();
            let says = section.contains("<p class=\"nothing\">Nothing to show: ");
            assert_ne!(section.contains("<figure"), says, "{id} of {what}");
        }
        // The other renderings are there as well.
        let verdict = training.verdict();
        assert!(!verdict.is_empty() && verdict.iter().all(|one| one.ends_with('.')), "{what}");
        let text = training.table().text(Look::Starred, 100);
        assert!(!text.contains("NaN") && !text.contains('\u{1b}'), "{what}: {text}");
        let again = Training::from_jsonl(&training.to_jsonl()).unwrap();
        assert_eq!(again.page(), page, "{what}");
    }
}

/// What is shown of a page: all before its data.
fn shown(page: &str) -> &str {
    page.split_once("<script").map_or(page, |(before, _)| before)
}

/// A part of the page, if it has it.
fn section<'a>(page: &'a str, id: &str) -> Option<&'a str> {
    let section = page.split(&format!("<section id=\"{id}\">")).nth(1)?;
    section.split("</section>").next()
}

/// An epoch of workers that each worked and waited so long, and had to wait such a share.
fn shared(number: u32, workers: &[(f64, f64, f64)]) -> TrainingEpoch {
    let worker = |&(work, wait, predicted)| WorkerEpoch { work, wait, predicted };
    let workers = workers.iter().map(worker).collect();
    let together = Some(Together { wall: 9.0, exchange: 0.01, workers });
    TrainingEpoch { together, ..epoch(number, 1.0, Some(0.5 / f64::from(number))) }
}

/// Whatever workers did, the page says what they did, and has no numbers that are none.
#[test]
fn every_kind_of_workers_has_a_page() {
    let two = |at| shared(at, &[(1.5, 0.5, 0.1), (2.0, 0.0, 0.0)]);
    let all = |workers: &[(f64, f64, f64)]| vec![shared(1, workers), shared(2, workers)];
    let wild = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, f64::MAX];
    let wild: Vec<TrainingEpoch> = (1..)
        .zip(wild)
        .map(|(at, wrong)| {
            let mut one = shared(at, &[(wrong, 1.0, 0.1), (1.0, wrong, wrong)]);
            let of = one.together.as_mut().unwrap();
            (of.wall, of.exchange) = (wrong, wrong);
            one
        })
        .collect();
    let many: Vec<(f64, f64, f64)> =
        (0..1024).map(|rank| (2.0, 0.001 * f64::from(rank), 0.01)).collect();
    let slow: Vec<(f64, f64, f64)> =
        (0..8).map(|rank| if rank == 5 { (2.0, 0.0, 0.01) } else { (1.5, 0.5, 0.01) }).collect();
    let plain = vec![epoch(1, 1.0, Some(0.5)), epoch(2, 0.9, Some(0.4))];
    let hostile = "</script><b>\u{1b}[31m\u{202e}";
    for (what, runs, bars, says) in [
        ("one alone", vec![("a", all(&[(2.0, 0.0, 0.0)]))], None, ""),
        ("nobody", vec![("a", all(&[]))], None, ""),
        ("two", vec![("a", vec![two(1), two(2)])], Some(2), "They wait 12.5\u{a0}% of their time"),
        (
            "and one",
            vec![("a", plain), ("b", vec![two(1)])],
            Some(2),
            "The other waits for worker\u{a0}1: 25",
        ),
        ("no time", vec![("a", all(&[(0.0, 0.0, 0.0); 3]))], Some(0), "no epoch took any time"),
        ("wild", vec![("a", wild)], Some(0), "the times of its workers are no numbers"),
        (
            "slow",
            vec![("a", all(&slow))],
            Some(8),
            "The others wait for worker\u{a0}5: 25.0\u{a0}%",
        ),
        (
            "all late",
            vec![("a", all(&[(1.0, 1.0, 0.0); 4]))],
            Some(4),
            "now another: they wait 50.0",
        ),
        ("1024", vec![("a", all(&many))], Some(24), "1,000\u{a0}workers are left out."),
        (
            "fewer",
            vec![("a", vec![shared(1, &slow), two(2), shared(3, &[(9.0, 0.0, 0.0)])])],
            Some(8),
            "1 to 8\u{a0}workers",
        ),
        ("hostile", vec![(hostile, all(&slow)), ("b", all(&slow))], Some(16), "worker\u{a0}5"),
    ] {
        let training = training(runs);
        let page = training.page();
        assert_eq!(page.matches("<script").count(), 2, "{what}");
        for wrong in ["NaN", "inf\"", "inf ", ">inf", "-inf", "<b>", "\u{1b}", "\u{202e}"] {
            assert!(!shown(&page).contains(wrong), "{wrong} in {what}");
        }
        let workers = section(&page, "workers");
        let drawn = workers.map(|section| section.matches("class=\"pad\" x=\"").count());
        // One more in the legend of each figure.
        let legends = workers.map_or(0, |section| section.matches("<figure").count());
        assert_eq!(drawn.map(|drawn| drawn - legends), bars, "{what}");
        assert!(workers.unwrap_or_default().contains(says), "{what}: {workers:?}");
        // The figure of paper 3, and the column, where there are several workers.
        assert_eq!(page.contains("with several workers, Fig. 5"), bars.is_some(), "{what}");
        let markdown = training.table().markdown();
        assert_eq!(markdown.contains("| workers |"), bars.is_some(), "{what}: {markdown}");
        assert!(!markdown.contains("NaN") && !markdown.contains("inf"), "{what}: {markdown}");
        let again = Training::from_jsonl(&training.to_jsonl()).unwrap();
        assert_eq!(again.page(), page, "{what}");
    }
}

/// Whatever was computed for more workers, there are figures of what is a number, and a table of all.
#[test]
fn every_kind_of_scaling_has_a_page() {
    let of = |name: &str, workers: u32, seconds: f64, idle: f64| {
        let name = name.to_owned();
        Scaling { name, workers, steps: u64::from(1000 / workers.max(1)), seconds, idle }
    };
    let doublings = |name: &str| -> Vec<Scaling> {
        (0..=10)
            .map(|power| {
                let workers = 1 << power;
                of(name, workers, 60.0 / f64::from(workers), 0.05 * f64::from(power))
            })
            .collect()
    };
    let hostile = "</script><b>\u{1b}[31m\u{202e}";
    for (what, scaling, figures, rows) in [
        ("nothing", vec![], 0, 0),
        ("no workers", vec![of("sync", 0, 1.0, 0.0)], 0, 0),
        ("one number", vec![of("sync", 6, 1.0, 0.1)], 2, 1),
        ("many", [doublings("sync"), doublings("a")].concat(), 2, 22),
        ("most", vec![of("sync", 1, 1.0, 0.0), of("sync", u32::MAX, 1e-9, 1.0)], 2, 2),
        ("no time", vec![of("sync", 1, 0.0, 0.0), of("sync", 2, 0.0, 0.0)], 1, 2),
        ("no idle", vec![of("sync", 1, 1.0, f64::NAN), of("sync", 2, 0.5, -1.0)], 1, 2),
        ("vast", vec![of("sync", 1, 1e300, 0.0), of("sync", 2, f64::INFINITY, 1e9)], 1, 2),
        ("no numbers", vec![of("sync", 1, f64::NAN, f64::NEG_INFINITY)], 0, 1),
        ("hostile", doublings(hostile), 2, 11),
    ] {
        let training = Training { scaling, ..training(vec![("a", vec![])]) };
        let page = training.page();
        assert_eq!(page.matches("<script").count(), 2, "{what}");
        for wrong in ["NaN", "inf\"", "inf ", ">inf", "-inf", "<b>", "\u{1b}", "\u{202e}"] {
            assert!(!shown(&page).contains(wrong), "{wrong} in {what}");
        }
        let found = section(&page, "scaling").unwrap_or_default();
        assert_eq!(found.is_empty(), rows == 0, "{what}");
        assert_eq!(found.matches("<figure").count(), figures, "{what}");
        assert_eq!(found.matches("<tr class").count(), rows, "{what}");
        let again = Training::from_jsonl(&training.to_jsonl()).unwrap();
        assert_eq!(again.page(), page, "{what}");
    }
}
