//! `lengthwise report` and `compare --report`: the page itself is tested in a browser.

use std::fs;

use expect_test::expect;

use crate::common::Folder;

const LENGTHS: &str = "3\n9\n4\n12\n7\n7\n15\n2\n8\n11\n";

#[test]
fn a_report_is_one_file() {
    let folder = Folder::new().with("lengths.txt", LENGTHS);
    folder.expect(
        "report lengths.txt --budget sequences:4 -o page.html",
        &expect![[r#"
            exit 0
            --- stdout
            --- stderr
            page.html: a report on lengths.txt
        "#]],
    );
    let page = fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(
        page.contains("<pre>lengthwise report lengths.txt --budget sequences:4 -o page.html</pre>")
    );
    let files = fs::read_dir(folder.folder()).unwrap().count();
    assert_eq!(files, 2, "the lengths and the page");
}

#[test]
fn compare_writes_a_report_beside_its_table() {
    let folder = Folder::new().with("lengths.txt", LENGTHS);
    let arguments = "compare lengths.txt --budget sequences:4 --strategy sorted --epochs 2";
    let (alone, both) = (
        folder.json(&format!("{arguments} --json")),
        folder.json(&format!("{arguments} --json --report page.html")),
    );
    assert_eq!(alone["settings"], both["settings"]);
    assert_eq!(alone["rows"][0]["cells"], both["rows"][0]["cells"]);
    assert!(fs::read_to_string(folder.path("page.html")).unwrap().contains("<svg"));
}

#[test]
fn what_a_report_shows_can_be_had_as_json() {
    let folder = Folder::new();
    let study = folder.json("report --example bimodal --strategy blurred --json");
    assert_eq!(study["version"], 1);
    assert_eq!(study["rows"][0]["strategy"], "blurred:blur=0.02");
    assert_eq!(study["pictures"][0]["batches"].as_array().unwrap().len(), 8);
    assert!(study.get("orders").is_none(), "only with --papers");
    assert_eq!(study["frontier"]["sequences"], 8000);
    assert_eq!(study["frontier"]["curves"].as_array().unwrap().len(), 7);
    let counts = study["lengths"]["bins"].as_array().unwrap().iter();
    assert_eq!(counts.map(|bin| bin["count"].as_u64().unwrap()).sum::<u64>(), 8000);
    assert_eq!(fs::read_dir(folder.folder()).unwrap().count(), 0, "nothing is written");
    let study = folder.json("report --example bimodal --strategy blurred --papers --json");
    assert_eq!(study["orders"][0]["order"].as_array().unwrap().len(), 1000);
}

#[test]
fn pairs_have_reports_too() {
    let rows = (0..200).map(|i| format!("{},{}\n", 20 + i * 37 % 400, 2 + i * 37 % 400 / 9));
    let folder =
        Folder::new().with("data.csv", "frames,tokens\n".to_owned() + &rows.collect::<String>());
    let input = "report data.csv --column frames --second tokens";
    for settings in [
        "--budget padded:2000",
        "--budget padded:first=2000,second=200 --epochs 2 --world-size 2",
        "--budget padded:2000 --shapes ladder:4 --strategy paired --strategy sorted",
        "--budget padded:440 --over-long drop --strategy paired",
    ] {
        let study = folder.json(&format!("{input} {settings} --json"));
        let rows = study["rows"].as_array().unwrap();
        let pictures = study["pictures"].as_array().unwrap();
        assert_eq!(rows.len(), pictures.len(), "{settings}");
        assert!(rows.iter().any(|row| row["strategy"] == "paired:blur=0.1"), "{settings}");
        assert!(rows.iter().all(|row| row["second_padding_rate"].is_number()), "{settings}");
    }
    let written = folder.run(&format!("{input} --budget padded:2000 -o pairs.html"));
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    assert!(fs::read_to_string(folder.path("pairs.html")).unwrap().contains("paired:blur=0.1"));
}

#[test]
fn a_report_that_cannot_be_is_refused() {
    let folder = Folder::new().with("lengths.txt", LENGTHS);
    folder.expect(
        "report lengths.txt -o page.pdf",
        &expect![[r#"
            exit 2
            --- stdout
            --- stderr
            error: page.pdf: a report is an HTML page

            hint: name the file .html
        "#]],
    );
    folder.expect(
        "compare lengths.txt --report no/page.html",
        &expect![[r#"
            exit 2
            --- stdout
            --- stderr
            error: no/page.html: there is no such folder

            hint: nothing was written to it; check that the folder exists and can be written to
        "#]],
    );
}
