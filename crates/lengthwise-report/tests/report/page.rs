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
        assert!(page.matches("<figure").count() <= 6, "{budget}");
        // A panel for each strategy and for what is recommended, if anything is.
        let panels = page.matches("<title>Batches of ").count();
        assert_eq!(panels, study.comparison.rows.len());
    }
}

/// The batches of a panel are real ones, and pad as much as the row of the table says.
#[test]
fn panels_pad_as_much_as_their_rows() {
    let lengths = Example::Speech.lengths();
    let strategies = Strategy::all_of_one_length();
    let study =
        Study::run(&request(&lengths, &strategies, Budget::padded(12_928)), "command", |_| ())
            .unwrap();
    let json: serde_json::Value = serde_json::from_str(&study.to_json()).unwrap();
    let pictures = json["pictures"].as_array().unwrap();
    assert_eq!(pictures.len(), study.comparison.rows.len());
    for (picture, row) in pictures.iter().zip(&study.comparison.rows) {
        let (mut cells, mut data) = (0.0, 0.0);
        for batch in picture["batches"].as_array().unwrap() {
            cells += batch["cells"].as_f64().unwrap();
            data += batch["data"].as_f64().unwrap();
            let all: u64 = batch["lengths"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(serde_json::Value::as_u64)
                .sum();
            let drawn = batch["lengths"].as_array().unwrap().len() as u64;
            if drawn == batch["sequences"].as_u64().unwrap() {
                assert_eq!(Some(all), batch["data"].as_u64(), "{}", row.label());
            }
        }
        let (shown, whole) = (1.0 - data / cells, picture["padding_rate"].as_f64().unwrap());
        assert!(
            (whole - row.mean.padding_rate).abs() < 4.0 * row.sd.padding_rate + 1e-3,
            "{}",
            row.label()
        );
        // Nearest to it of many windows.
        assert!((shown - whole).abs() < 0.01, "{}: {shown} {whole}", row.label());
    }
}

#[test]
fn the_figures_of_the_papers_come_when_asked_for() {
    let lengths = Example::Bimodal.lengths();
    let strategies = ["sorted", "blurred"].map(|name| name.parse().unwrap());
    let plain = request(&lengths, &strategies, Budget::padded(6000));
    let papers = Request { papers: true, ..plain.clone() };
    let page = |request: &Request| Study::run(request, "command", |_| ()).unwrap().to_html();
    assert!(!page(&plain).contains("id=\"tuning\""));
    let page = page(&papers);
    for section in ["frontier", "tuning", "orders"] {
        assert!(page.contains(&format!("id=\"{section}\"")), "{section}");
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
