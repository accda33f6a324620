//! The page without a browser: it is there for every kind of input, and names stay names.

use lengthwise::{Budget, Example, Lengths, OverLong, Settings, Strategy, Tail, tune::Wanted};
use lengthwise_report::{Request, Study};

fn request<'a>(lengths: &'a Lengths, strategies: &'a [Strategy], budget: Budget) -> Request<'a> {
    let settings =
        Settings { over_long: OverLong::Alone, tail: Tail::Repeat, ..Settings::new("", budget) };
    Request {
        source: "</title><script>alert(1)</script>",
        unit: None,
        lengths,
        strategies,
        wanted: Wanted { settings: settings.clone(), ranks: 2, ..Wanted::new(budget) },
        typed: None,
        settings,
        epochs: 2,
        world_size: 2,
        papers: false,
    }
}

#[test]
fn every_kind_of_input_has_a_page() {
    let strategies = Strategy::all_of_one_length();
    for (lengths, budget) in [
        (vec![7, 7], Budget::sequences(1)),
        (vec![5; 300], Budget::sequences(16)),
        (vec![1, u32::MAX], Budget::sequences(4)),
        ((1..500).collect(), Budget::padded(700)),
        ((1..500).collect(), Budget::padded(200)), // most exceed the budget alone
        (Example::Documents.lengths().as_slice().to_vec(), Budget::dynamic(2)),
    ] {
        let lengths = Lengths::new(lengths).unwrap();
        let mut told = 0;
        let study =
            Study::run(&request(&lengths, &strategies, budget), "command", |_| told += 1).unwrap();
        assert!(told > strategies.len());
        let page = study.to_html();
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        assert!(!page.contains("<script>alert"));
        // The script of the page, and its data.
        assert_eq!(page.matches("<script").count(), 2, "{budget}");
        for wrong in ["NaN", "=\"inf", "=\"-inf", " inf "] {
            assert!(!page.contains(wrong), "{wrong} under {budget}");
        }
        assert_eq!(page.matches("<article").count(), strategies.len());
    }
}

#[test]
fn the_page_and_its_json_are_the_same_in_every_run() {
    let lengths = Example::Bimodal.lengths();
    let strategies = ["sorted", "blurred"].map(|name| name.parse().unwrap());
    let mut pages = (0..2).map(|_| {
        let request = request(&lengths, &strategies, Budget::padded(6000));
        let mut study = Study::run(&request, "command", |_| ()).unwrap();
        for row in &mut study.comparison.rows {
            // The only figures that a clock decides.
            (row.mean.plan_seconds, row.sd.plan_seconds) = (0.0, 0.0);
        }
        (study.to_html(), study.to_json())
    });
    assert_eq!(pages.next(), pages.next());
}
