//! `lengthwise inspect`, completions, manual pages, and what all commands have.

use std::fs;

use expect_test::expect;

use crate::common::{Folder, refusal};

fn lines(lengths: &[u32]) -> String {
    lengths.iter().map(|length| length.to_string() + "\n").collect()
}

#[test]
fn lengths_are_shown_as_they_are() {
    let lengths: Vec<u32> = (0..200).map(|i| 10 + i * 7 % 40).chain([5000]).collect();
    let lengths = lines(&lengths);
    let folder = Folder::new().with("lengths.txt", lengths);
    folder.expect("inspect lengths.txt --budget sequences:8", &expect![[r#"
        exit 0
        --- stdout
        lengths.txt: 201 sequences, 10900 positions in all, 41 different lengths
        mean 54.2, standard deviation 349.9
        shortest 10, 1 %: 10, 5 %: 12, 25 %: 20, median 30, 75 %: 40, 95 %: 48, 99 %: 49, longest 5000

            10 to 14  25  ############################
            15 to 21  35  #######################################
            22 to 32  55  #############################################################
            33 to 47  75  ##################################################################################
            48 to 69  10  ###########
           70 to 102   0
          103 to 151   0
          152 to 223   0
          224 to 329   0
          330 to 486   0
          487 to 717   0
         718 to 1057   0
        1058 to 1559   0
        1560 to 2299   0
        2300 to 3390   0
        3391 to 5000   1  ##

        under sequences:8 random batches spend 77.6 % of their cells on padding, sorted ones 76.14 %
        1 sequence is longer than 100 (the upper quartile 40 and three times its distance 20 from the lower one), with 45.9 % of all positions; the longest: 5000 (200)

        recommended: proportional:batches=2, shapes ladder:16, 2 micro-batches per update: an epoch takes 0.50 of the time of random batches: 19 % of all cells are padding instead of 78 %, and every optimizer step looks like the data (step mix 0.76)
        updates per epoch: 25, with random batches 26
        if the model takes packed rows (variable-length attention), packed:capacity=5000 takes 0.28 of random's time
        the times are assumed: a small model on a large GPU waits for the launch of each micro-batch, and can take longer than with random batches; lengthwise explain cost says how to measure it

        lengthwise plan lengths.txt --strategy proportional:batches=2 --budget sequences:8 --shapes ladder:16 --arrange spread --update sequences:8 --seed 0

        warning: sequence 200 has length 5000, 92 times the mean: every batch it is in is padded to that
        --- stderr
    "#]]);
    let json = folder.json("inspect lengths.txt --json");
    assert_eq!((&json["sequences"], &json["distinct"]), (&201.into(), &41.into()));
    assert_eq!(json["outliers"]["longest"][0]["sequence"], 200);
    assert_eq!(json["quantiles"].as_array().unwrap().len(), 9);
}

#[test]
fn suspicious_lengths_are_pointed_out() {
    let warning = |lengths: &str| {
        let folder = Folder::new().with("lengths.txt", lengths);
        let json = folder.json("inspect lengths.txt --json");
        json["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w.to_string() + "\n")
            .collect::<String>()
    };
    let labels = lines(&[1, 2].repeat(150));
    expect![[r#"
        "all lengths are 7: nothing is ever padded; is this the right column?"
        "no length is above 2; is this a column of labels?"
    "#]]
    .assert_eq(&[warning(&"7\n".repeat(50)), warning(&labels), warning("3\n4\n5\n")].concat());
}

/// What plans refuse is refused, with the same words.
#[test]
fn sequences_over_the_budget_are_refused() {
    let folder = Folder::new().with("lengths.txt", "3\n900\n5\n4\n");
    for budget in ["padded:10", "cost:a=1,c=1,limit=5"] {
        let said =
            |command: &str| refusal(&folder, &format!("{command} lengths.txt --budget {budget}"));
        let of = |command: &str| said(command).lines().skip(1).collect::<Vec<_>>().join("\n");
        assert_eq!(of("inspect"), of("plan"), "{budget}");
        assert_eq!(of("tune"), of("plan"), "{budget}");
        assert!(of("inspect").contains("sequence 1 of length 900"), "{}", of("inspect"));
    }
}

#[test]
fn shells_can_complete_and_packages_have_pages() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = folder.run(&format!("completions {shell}"));
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains("world-size"), "{shell}");
    }
    assert!(folder.run("man").status.success());
    assert!(folder.run("man -o pages").status.success());
    let page = fs::read_to_string(folder.path("pages/lengthwise-plan.1")).unwrap();
    assert!(page.contains("lengthwise plan") && page.contains("world\\-size"), "{page}");
    assert_eq!(fs::read_dir(folder.path("pages")).unwrap().count(), 16);
}

#[test]
fn quiet_says_nothing_but_errors() {
    let folder = Folder::new().with("lengths.txt", "3\n4\n5\n");
    let plan = "plan lengths.txt --budget sequences:2";
    assert!(!folder.run(plan).stderr.is_empty());
    assert!(folder.run(&format!("{plan} --quiet")).stderr.is_empty());
    assert!(folder.run(&format!("--quiet {plan}")).stderr.is_empty());
    assert!(!folder.run("plan lengths.txt --budget sequences:0 --quiet").stderr.is_empty());
}

#[test]
fn colours_are_as_asked() {
    let folder = Folder::new();
    let coloured = |more: &str| {
        let output = folder.run(&format!("compare --example bimodal --strategy sorted {more}"));
        String::from_utf8(output.stdout).unwrap().contains('\u{1b}')
    };
    assert!(!coloured("") && coloured("--color always") && !coloured("--color never"));
}
