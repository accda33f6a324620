//! The page of a training without a browser: it is there for every kind of records.

use lengthwise_report::{
    Look,
    training::{Training, TrainingEpoch, TrainingRun, Validation},
};

fn epoch(epoch: u32, loss: f64, validation: Option<f64>) -> TrainingEpoch {
    TrainingEpoch {
        epoch,
        seconds: 2.0,
        steps: 10,
        sequences: 160,
        frames: 900,
        cells: 1000,
        shapes: 7,
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
        let shown = page.split("<script").next().unwrap();
        for wrong in ["NaN", "inf\"", "inf ", ">inf", "<b>", "<i>", "\u{1b}", "\u{202e}"] {
            assert!(!shown.contains(wrong), "{wrong} in {what}");
        }
        // A section without a figure says why there is none.
        for id in ["loss", "seconds", "error", "trade-off"] {
            let section = page.split(&format!("<section id=\"{id}\">")).nth(1).unwrap();
            let section = section.split("</section>").next().unwrap();
            let says = section.contains("<p class=\"nothing\">Nothing to show: ");
            assert_ne!(section.contains("<figure"), says, "{id} of {what}");
        }
        // The other renderings are there as well.
        assert!(!training.verdict().is_empty() && training.verdict().ends_with('.'), "{what}");
        let text = training.table().text(Look::Starred, 100);
        assert!(!text.contains("NaN") && !text.contains('\u{1b}'), "{what}: {text}");
        let again = Training::from_jsonl(&training.to_jsonl()).unwrap();
        assert_eq!(again.page(), page, "{what}");
    }
}
