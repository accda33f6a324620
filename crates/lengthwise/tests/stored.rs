//! What is stored of settings, plans and steps can be read again, and what was damaged is refused.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use expect_test::expect;
use lengthwise::{
    Budget, CostModel, Lengths, Planner, Provenance, Settings, Shapes, Steps, Strategy, Update,
    balance::{Balance, Step, balance},
    shard::Shard,
};
use serde_json::{from_str, from_value, json, to_string_pretty, to_value};

fn lengths() -> Lengths {
    Lengths::new([5, 3, 9, 3, 7, 1, 8, 8]).unwrap()
}

#[test]
fn settings_are_read_as_they_are_written() {
    let mut settings = Settings::new("sorted", Budget::padded(40));
    settings.shapes = Shapes::Multiple(8);
    settings.steps = Some(Steps::Aligned);
    settings.update = Some(Update::Tokens(90));
    settings.cost_model = Some(CostModel::preset("recurrent").unwrap());
    settings.shard = Some(Shard::new(1, 3).unwrap());
    let text = to_string_pretty(&settings).unwrap();
    expect![[r#"
        {
          "strategy": "sorted",
          "budget": "padded:40",
          "shapes": "multiple:8",
          "arrange": "spread",
          "over_long": "error",
          "tail": "split",
          "cost_model": "a=0.006851,b=0.000177,c=2.665e-7,d=4.354e-10",
          "accumulate": 1,
          "update": "tokens:90",
          "shard": [
            1,
            3
          ],
          "seed": 0,
          "steps": "aligned"
        }"#]]
    .assert_eq(&text);
    assert_eq!(from_str::<Settings>(&text).unwrap(), settings);
    let plain = Settings::new("sorted", Budget::padded(40));
    expect![[r#"
        {
          "strategy": "sorted",
          "budget": "padded:40",
          "shapes": "exact",
          "arrange": "spread",
          "over_long": "error",
          "tail": "split",
          "accumulate": 1,
          "seed": 0,
          "steps": null
        }"#]]
    .assert_eq(&to_string_pretty(&plain).unwrap());
    assert_eq!(from_value::<Settings>(to_value(&plain).unwrap()).unwrap(), plain);
}

#[test]
fn fingerprints_are_sixteen_digits() {
    let planner = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::padded(20));
    let plan = planner.plan(&lengths(), 2).unwrap();
    let stored = to_value(plan.provenance()).unwrap();
    assert_eq!(stored["lengths"], format!("{:016x}", lengths().digest()));
    assert_eq!(&from_value::<Provenance>(stored.clone()).unwrap(), plan.provenance());
    for bad in [
        "",
        "1234",
        "0123456789ABCDEF",
        "0123456789abcdeg",
        "+123456789abcdef",
        "00123456789abcdef",
    ] {
        let mut stored = stored.clone();
        stored["lengths"] = bad.into();
        let error = from_value::<Provenance>(stored).unwrap_err().to_string();
        assert!(error.contains("is not a fingerprint"), "{error}");
    }
}

#[test]
fn shards_are_two_numbers() {
    let shard = Shard::new(1, 3).unwrap();
    assert_eq!(to_value(shard).unwrap(), json!([1, 3]));
    assert_eq!(from_value::<Shard>(json!([1, 3])).unwrap(), shard);
    assert!(from_value::<Shard>(json!([3, 3])).is_err());
}

/// Every part of a stored step is needed, and must agree with the others.
#[test]
fn a_damaged_step_is_refused() {
    let wanted = Balance::new(4).split(vec![1, 2]).capacity(12);
    let step = balance(lengths().as_slice(), &wanted).unwrap();
    let stored = to_value(&step).unwrap();
    assert_eq!(from_value::<Step>(stored.clone()).unwrap(), step);
    let lists = ["order", "ends", "degrees", "batch_of", "starts", "times"];
    let shorter = lists.map(|part| {
        let mut stored = stored.clone();
        stored[part].as_array_mut().unwrap().pop();
        (part, stored)
    });
    let other =
        [("order", 1), ("order", 99), ("ends", 99), ("batch_of", 99)].map(|(part, value)| {
            let mut stored = stored.clone();
            stored[part][0] = value.into();
            stored[part][1] = value.into();
            (part, stored)
        });
    let mut more = stored.clone();
    more["micro_batches"] = (step.micro_batches() + 1).into();
    for (part, stored) in shorter.into_iter().chain(other).chain([("micro_batches", more)]) {
        let error = from_value::<Step>(stored).unwrap_err().to_string();
        assert!(error.contains("its parts do not agree"), "{part}: {error}");
    }
    // The number of the last micro-batch may be named, and no higher one.
    let count = step.ends().len();
    for (last, agrees) in [(count - 1, true), (count, false)] {
        let mut stored = stored.clone();
        stored["batch_of"][0] = last.into();
        assert_eq!(from_value::<Step>(stored).is_ok(), agrees, "{last}");
    }
}
