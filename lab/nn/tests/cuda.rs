//! Every operation of a CUDA device against the processor's, on the same numbers. Where there is no
//! device, there is nothing to compare.
#![cfg(feature = "cuda")]
#![expect(clippy::print_stderr, reason = "says how far apart the two are, and what is left out")]

use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use lengthwise_nn::{
    Attention, Cpu, Cuda, Embedding, Engine, EngineError, Frame, Linear, Loss, Recurrent, Rule,
    Tape,
};

type Results = Result<Vec<(String, Vec<f32>)>, EngineError>;

fn wave(count: usize, seed: f64, scale: f64) -> Vec<f32> {
    let at = |i: usize| scale * (seed * (i + 1) as f64 + 0.1 * (i as f64).sqrt()).sin();
    (0..count).map(|i| at(i) as f32).collect()
}

/// Labels below `most`, without a pattern that a layer could follow.
fn labels(count: usize, most: usize) -> Vec<u32> {
    (0..count).map(|i| ((3 * i + i / 5 + i * i / 7) % most) as u32).collect()
}

/// Of two open devices, only one may be at work: blocks of a recurrent layer want it to themselves.
static AT_WORK: RwLock<()> = RwLock::new(());

fn open() -> Result<Cuda, EngineError> {
    Cuda::new(0).inspect_err(|error| eprintln!("nothing compared: {error}"))
}

/// One device for all tests, if there is one: to open it takes longer than most comparisons.
fn shared() -> Result<(RwLockReadGuard<'static, ()>, &'static Cuda), &'static EngineError> {
    static SHARED: OnceLock<Result<Cuda, EngineError>> = OnceLock::new();
    let cuda = SHARED.get_or_init(open).as_ref()?;
    Ok((AT_WORK.read().unwrap_or_else(PoisonError::into_inner), cuda))
}

/// A device whose memory no other test uses, while all others wait.
fn alone() -> Option<(RwLockWriteGuard<'static, ()>, Cuda)> {
    // Where there is none, this says so once.
    drop(shared().ok()?);
    let turn = AT_WORK.write().unwrap_or_else(PoisonError::into_inner);
    Some((turn, open().ok()?))
}

/// The numbers of a loss, with its gradient.
fn of_loss<E: Engine>(engine: &E, loss: &Loss<E::Buffer>) -> Result<Vec<Vec<f32>>, EngineError> {
    let numbers = vec![loss.total as f32, loss.count as f32, loss.correct as f32];
    Ok(vec![numbers, engine.download(&loss.gradient)?])
}

/// What both engines compute, which must be the same to a part of 10⁵ of the largest; and what the
/// device computes a second time, which must be the same to the last bit.
macro_rules! compare {
    ($function:ident($($argument:expr),*)) => {
        if let Ok((_turn, cuda)) = shared() {
            let what = concat!(stringify!($function), $(" ", stringify!($argument)),*);
            let expected = $function(&Cpu, $($argument),*).unwrap();
            let found = $function(cuda, $($argument),*).unwrap();
            let again = $function(cuda, $($argument),*).unwrap();
            near(what, &expected, &found);
            let bits = |results: &[(String, Vec<f32>)]| -> Vec<u32> {
                results.iter().flat_map(|(_, values)| values).map(|value| value.to_bits()).collect()
            };
            assert_eq!(bits(&found), bits(&again), "{what}: another result in the second run");
        }
    };
}

fn near(what: &str, expected: &[(String, Vec<f32>)], found: &[(String, Vec<f32>)]) {
    assert_eq!(expected.len(), found.len());
    let mut worst = (0.0_f32, "");
    let mut far = Vec::new();
    for ((name, expected), (_, found)) in expected.iter().zip(found) {
        assert_eq!(expected.len(), found.len(), "{what}: {name}");
        let largest = expected.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let mut beyond: Option<(usize, f32)> = None;
        let mut count = 0;
        for (place, (&expected, &found)) in expected.iter().zip(found).enumerate() {
            let error = (expected - found).abs();
            // A number that is none is further than any.
            let within = error <= 1e-5 * largest;
            count += usize::from(!within);
            if !within && beyond.is_none_or(|(_, most)| error > most || error.is_nan()) {
                beyond = Some((place, error));
            }
            if largest > 0.0 && error / largest > worst.0 {
                worst = (error / largest, name);
            }
        }
        if let Some((place, _)) = beyond {
            let (all, expected, found) = (expected.len(), expected[place], found[place]);
            far.push(format!(
                "{name}: {count} of {all} are far, the furthest at {place}: {found} for \
                 {expected}, largest {largest}"
            ));
        }
    }
    eprintln!("{:9.1e}  {what} ({})", worst.0, worst.1);
    assert!(far.is_empty(), "{what}: {far:#?}");
}

fn buffers<E: Engine>(engine: &E) -> Results {
    let (one, other) = (wave(7 * 3, 0.3, 1.0), wave(7 * 5, 0.4, 1.0));
    let (one, other) = (engine.upload(one)?, engine.upload(other)?);
    let both = engine.join(&one, &other, (3, 5))?;
    let (mut first, second) = engine.split(&both, (3, 5))?;
    engine.add(&mut first, &one)?;
    let mut cleared = engine.upload(vec![3.0; 1000])?;
    engine.clear(&mut cleared)?;
    Ok(vec![
        ("joined".into(), engine.download(&both)?),
        ("added".into(), engine.download(&first)?),
        ("split".into(), engine.download(&second)?),
        ("cleared".into(), engine.download(&cleared)?),
        ("zeros".into(), engine.download(&engine.zeros(33)?)?),
    ])
}

fn linear<E: Engine>(engine: &E, rows: usize, inputs: usize, outputs: usize) -> Results {
    let layer = Linear { inputs, outputs };
    let parameters = engine.upload(wave(7 + layer.parameters(), 0.3, 0.5))?;
    let mut gradient = engine.upload(wave(7 + layer.parameters(), 0.7, 0.1))?;
    let x = engine.upload(wave(rows * inputs, 0.9, 1.0))?;
    let dy = engine.upload(wave(rows * outputs, 0.8, 1.0))?;
    let y = engine.linear(layer, &parameters, 7, &x)?;
    let dx = engine.linear_backward(layer, &parameters, &mut gradient, 7, &x, &dy)?;
    Ok(vec![
        ("output".into(), engine.download(&y)?),
        ("dx".into(), engine.download(&dx)?),
        ("gradient".into(), engine.download(&gradient)?),
    ])
}

fn linear_batch<E: Engine>(engine: &E, layer: Linear, frame: &Frame) -> Results {
    let Linear { inputs, outputs } = layer;
    let parameters = engine.upload(wave(7 + layer.parameters(), 0.3, 0.5))?;
    let mut gradient = engine.upload(wave(7 + layer.parameters(), 0.7, 0.1))?;
    // What is beyond a row is padding, and may be anything.
    let x = engine.upload(wave(frame.cells() * inputs, 0.9, 1.0))?;
    let dy = engine.upload(wave(frame.cells() * outputs, 0.8, 1.0))?;
    let y = engine.linear_batch(layer, &parameters, 7, frame, &x)?;
    let dx = engine.linear_batch_backward(layer, &parameters, &mut gradient, 7, frame, &x, &dy)?;
    Ok(vec![
        ("output".into(), engine.download(&y)?),
        ("dx".into(), engine.download(&dx)?),
        ("gradient".into(), engine.download(&gradient)?),
    ])
}

fn embed<E: Engine>(engine: &E, steps: usize, lengths: &[usize], width: usize) -> Results {
    let layer = Embedding { symbols: 11, width };
    let frame = Frame::new(steps, lengths.to_vec());
    let parameters = engine.upload(wave(3 + layer.parameters(), 0.3, 0.5))?;
    let mut gradient = engine.upload(wave(3 + layer.parameters(), 0.7, 0.1))?;
    let symbols = labels(frame.cells(), 9);
    let out = engine.embed(layer, &parameters, 3, &frame, &symbols)?;
    let dy = engine.upload(wave(frame.cells() * width, 0.8, 1.0))?;
    engine.embed_backward(layer, &mut gradient, 3, &frame, &symbols, &dy)?;
    Ok(vec![
        ("output".into(), engine.download(&out)?),
        ("gradient".into(), engine.download(&gradient)?),
    ])
}

fn attend<E: Engine>(engine: &E, asks: usize, answers: usize, width: usize) -> Results {
    let shape = Attention {
        queries: Frame::new(asks, vec![asks, 1, asks - 2]),
        keys: Frame::new(answers, vec![2, answers, answers - 1]),
        width,
        value_width: width + 3,
    };
    let upload = |count: usize, seed| engine.upload(wave(count, seed, 1.5));
    let queries = upload(3 * asks * width, 0.3)?;
    let keys = upload(3 * answers * width, 0.4)?;
    let values = upload(3 * answers * (width + 3), 0.5)?;
    let (found, weights) = engine.attend(&shape, &queries, &keys, &values)?;
    let dy = upload(3 * asks * (width + 3), 0.6)?;
    let [dq, dk, dv] = engine.attend_backward(&shape, &queries, &keys, &values, &weights, &dy)?;
    let named = [("found", found), ("weights", weights), ("dq", dq), ("dk", dk), ("dv", dv)];
    named.into_iter().map(|(name, of)| Ok((name.into(), engine.download(&of)?))).collect()
}

fn mean<E: Engine>(engine: &E, steps: usize, lengths: &[usize], width: usize) -> Results {
    let frame = Frame::new(steps, lengths.to_vec());
    let x = engine.upload(wave(frame.cells() * width, 0.3, 1.0))?;
    let dy = engine.upload(wave(frame.rows() * width, 0.4, 1.0))?;
    let (out, dx) = (engine.mean(&frame, width, &x)?, engine.mean_backward(&frame, width, &dy)?);
    Ok(vec![("mean".into(), engine.download(&out)?), ("dx".into(), engine.download(&dx)?)])
}

fn losses<E: Engine>(engine: &E, steps: usize, lengths: &[usize], classes: usize) -> Results {
    let frame = Frame::new(steps, lengths.to_vec());
    let scores = engine.upload(wave(frame.cells() * classes, 0.3, 3.0))?;
    let targets = engine.upload(wave(frame.cells() * classes, 0.5, 2.0))?;
    let classified =
        engine.cross_entropy(&frame, &scores, classes, &labels(frame.cells(), classes))?;
    let differing = engine.squared_error(&frame, &scores, classes, &targets)?;
    let mut results = Vec::new();
    for (name, loss) in [("cross-entropy", classified), ("squared error", differing)] {
        for values in of_loss(engine, &loss)? {
            results.push((name.into(), values));
        }
    }
    Ok(results)
}

fn ctc<E: Engine>(engine: &E, steps: usize, classes: usize, targets: &[Vec<u32>]) -> Results {
    let lengths = (0..targets.len()).map(|row| steps - row.min(steps / 3)).collect();
    let frame = Frame::new(steps, lengths);
    let scores = engine.upload(wave(frame.cells() * classes, 0.3, 2.0))?;
    let loss = engine.ctc(&frame, &scores, classes, targets)?;
    Ok(of_loss(engine, &loss)?.into_iter().map(|values| ("ctc".into(), values)).collect())
}

fn updates<E: Engine>(engine: &E, rule: Rule, most: f32) -> Results {
    let count = 5000;
    let mut parameters = engine.upload(wave(count, 0.3, 1.0))?;
    let mut state = [engine.zeros(count)?, engine.zeros(count)?];
    let mut lengths = Vec::new();
    for step in 1..=3 {
        let mut gradient = engine.upload(wave(count, 0.4 * step as f64, 0.2))?;
        lengths.push(engine.clip(&mut gradient, most)?);
        engine.update(rule, 0.01, step, &mut parameters, &gradient, &mut state)?;
    }
    let [first, second] = state;
    Ok(vec![
        ("lengths".into(), lengths),
        ("parameters".into(), engine.download(&parameters)?),
        ("first state".into(), engine.download(&first)?),
        ("second state".into(), engine.download(&second)?),
    ])
}

fn recurrent<E: Engine>(engine: &E, layer: Recurrent, frame: &Frame) -> Results {
    let scale = 1.5 / (layer.units as f64).sqrt();
    let parameters = engine.upload(wave(5 + layer.parameters(), 0.37, scale))?;
    let mut gradient = engine.upload(wave(5 + layer.parameters(), 0.7, 0.01))?;
    // What is beyond a row is padding, and may be anything.
    let x = engine.upload(wave(frame.cells() * layer.inputs, 0.9, 1.0))?;
    let (y, trace) = engine.recurrent(layer, &parameters, 5, frame, &x)?;
    let dy = engine.upload(wave(frame.cells() * layer.outputs(), 0.8, 0.5))?;
    let mut changed = engine.zeros(frame.cells() * layer.outputs())?;
    engine.add(&mut changed, &y)?;
    let dx = engine.recurrent_backward(
        layer,
        &parameters,
        &mut gradient,
        5,
        frame,
        &x,
        trace,
        &dy,
        true,
    )?;
    let dx = dx.ok_or_else(|| EngineError::new("no gradient of the input"))?;
    Ok(vec![
        ("output".into(), engine.download(&y)?),
        ("copy".into(), engine.download(&changed)?),
        ("dx".into(), engine.download(&dx)?),
        ("gradient".into(), engine.download(&gradient)?),
    ])
}

/// Whole training steps of a stack of two layers in both directions.
fn training<E: Engine>(engine: &E, units: usize, frame: &Frame) -> Results {
    let (inputs, classes) = (5, 6);
    let layers = [
        Recurrent { inputs, units, both: true },
        Recurrent { inputs: 2 * units, units, both: true },
    ];
    let head = Linear { inputs: 2 * units, outputs: classes };
    let (second, third) = (layers[0].parameters(), layers[0].parameters() + layers[1].parameters());
    let count = third + head.parameters();
    let mut parameters = engine.upload(wave(count, 0.31, 1.0 / (units as f64).sqrt()))?;
    let mut gradient = engine.zeros(count)?;
    let mut state = [engine.zeros(count)?, engine.zeros(count)?];
    // Where a gradient is next to nothing, an update of the paper's epsilon is all rounding.
    let rule = Rule::Adam { betas: (0.9, 0.999), epsilon: 1e-2 };
    let mut losses = Vec::new();
    for step in 1..=3 {
        let mut tape = Tape::new(engine, &parameters);
        let x = tape.given(wave(frame.cells() * inputs, 0.7, 1.0))?;
        let one = tape.recurrent(layers[0], 0, frame, x)?;
        let two = tape.recurrent(layers[1], second, frame, one)?;
        let scores = tape.linear(head, third, frame, two)?;
        let labels = labels(frame.cells(), classes);
        let loss = engine.cross_entropy(frame, tape.get(scores), classes, &labels)?;
        losses.push(loss.total as f32);
        engine.clear(&mut gradient)?;
        tape.backward(scores, loss.gradient, &mut gradient)?;
        engine.update(rule, 0.01, step, &mut parameters, &gradient, &mut state)?;
    }
    Ok(vec![
        ("losses".into(), losses),
        ("gradient".into(), engine.download(&gradient)?),
        ("parameters".into(), engine.download(&parameters)?),
    ])
}

#[test]
fn a_machine_without_cuda_says_so() {
    if let Err(error) = shared() {
        let text = error.to_string();
        assert!(text.contains("CUDA") || text.contains("cuBLAS"), "{text}");
    }
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let error = Cuda::new(1000).unwrap_err().to_string();
    assert!(error.contains("there is no CUDA"), "{error}");
}

#[test]
fn small_operations() {
    compare!(buffers());
    compare!(linear(1, 1, 1));
    compare!(linear(333, 17, 70));
    let layer = Linear { inputs: 17, outputs: 70 };
    compare!(linear_batch(layer, &frame(6, &[6, 2, 0, 4])));
    compare!(linear_batch(layer, &frame(6, &[6, 2, 0, 4]).with_padding()));
    compare!(linear_batch(layer, &frame(9, &[4; 33])));
    compare!(linear_batch(layer, &frame(2, &[0, 0])));
    compare!(embed(6, &[6, 2, 0, 4], 5));
    compare!(embed(300, &[300, 7], 130));
    compare!(attend(5, 4, 3));
    compare!(attend(70, 45, 33));
    compare!(mean(6, &[6, 2, 0, 4], 5));
    compare!(mean(50, &[50, 2], 200));
    compare!(losses(6, &[6, 2, 0, 4], 5));
    compare!(losses(90, &[90, 2, 33], 100));
    compare!(ctc(9, 4, &[vec![1, 2, 2], vec![], vec![3]]));
    compare!(ctc(120, 40, &[labels(40, 37).iter().map(|label| label + 1).collect(), vec![5; 9]]));
    let adam = Rule::Adam { betas: (0.9, 0.999), epsilon: 1e-3 };
    compare!(updates(adam, 1.0));
    compare!(updates(Rule::Adadelta { decay: 0.95, epsilon: 1e-6 }, 1e9));
}

/// A batch of so many steps with rows of these lengths.
fn frame(steps: usize, lengths: &[usize]) -> Frame {
    Frame::new(steps, lengths.to_vec())
}

#[test]
fn recurrent_layers() {
    let layer = |inputs, units, both| Recurrent { inputs, units, both };
    let mixed = frame(9, &[9, 4, 0, 1, 9, 7]);
    compare!(recurrent(layer(3, 1, true), &frame(1, &[1])));
    compare!(recurrent(layer(5, 21, true), &mixed));
    compare!(recurrent(layer(5, 48, false), &mixed));
    compare!(recurrent(layer(7, 65, true), &mixed));
    compare!(recurrent(layer(16, 128, true), &mixed));
    compare!(recurrent(layer(16, 250, false), &mixed));
    compare!(recurrent(layer(16, 512, true), &mixed));
    compare!(recurrent(layer(8, 1024, true), &frame(4, &[4, 2])));
    // Too large for the registers of any device.
    compare!(recurrent(layer(8, 1300, true), &frame(4, &[4, 2])));
    compare!(recurrent(layer(8, 1300, false), &mixed));
    compare!(recurrent(layer(8, 1300, true), &mixed));
    let many = frame(7, &(0..150).map(|row| row % 8).collect::<Vec<_>>());
    compare!(recurrent(layer(6, 40, true), &many));
    compare!(recurrent(layer(6, 512, true), &many));
}

#[test]
fn recurrent_layers_of_other_shapes() {
    let layer = |inputs, units, both| Recurrent { inputs, units, both };
    // Padding that is computed, rows that are all shorter than the batch, and rows of no length.
    for (units, both) in [(21, true), (48, false), (128, true), (1300, true)] {
        let layer = layer(5, units, both);
        compare!(recurrent(layer, &frame(9, &[9, 4, 0, 1, 9, 7]).with_padding()));
        compare!(recurrent(layer, &frame(9, &[9; 5])));
        compare!(recurrent(layer, &frame(9, &[6; 5])));
        compare!(recurrent(layer, &frame(9, &[3, 6, 5, 6])));
        compare!(recurrent(layer, &frame(9, &[1, 0, 1])));
        compare!(recurrent(layer, &frame(3, &[0, 0])));
    }
    // So many rows that a block goes over its own in several parts.
    let long = frame(20, &(0..700).map(|row| row * 31 % 21).collect::<Vec<_>>());
    compare!(recurrent(layer(6, 48, true), &long));
    compare!(recurrent(layer(6, 200, true), &long));
    compare!(recurrent(layer(6, 200, true), &long.clone().with_padding()));
}

#[test]
fn training_steps() {
    let mixed = frame(30, &[30, 12, 1, 30, 22]);
    compare!(training(21, &mixed));
    compare!(training(48, &mixed));
    compare!(training(128, &mixed));
    compare!(training(512, &mixed));
    compare!(training(128, &mixed.clone().with_padding()));
}

/// What a layer keeps for the way back is of the positions of a batch.
#[test]
fn padding_takes_little_memory() {
    let Some((_turn, cuda)) = alone() else { return };
    let lengths: Vec<usize> = (0..16).map(|row| 400 - 24 * row).collect();
    let [skipped, computed] =
        [frame(400, &lengths), frame(400, &lengths).with_padding()].map(|frame| {
            cuda.reset_peak();
            training(&cuda, 64, &frame).unwrap();
            cuda.peak_bytes() as f64
        });
    eprintln!("{skipped} bytes, and {computed} where padding is computed");
    assert!(skipped < 0.75 * computed, "{skipped} of {computed}");
}

/// The engine can be asked for the most memory that was in use, and using it again takes no more.
#[test]
fn memory_is_counted_and_used_again() {
    let Some((_turn, cuda)) = alone() else { return };
    cuda.reset_peak();
    let before = cuda.peak_bytes();
    drop(cuda.zeros(1000).unwrap());
    assert_eq!(cuda.peak_bytes(), before + 4000);
    training(&cuda, 21, &frame(30, &[30, 20])).unwrap();
    let peak = cuda.peak_bytes();
    training(&cuda, 21, &frame(30, &[30, 20])).unwrap();
    assert_eq!(cuda.peak_bytes(), peak);
    cuda.reset_peak();
    assert!(cuda.peak_bytes() < peak);
    let error = cuda.zeros(1 << 44).unwrap_err().to_string();
    assert!(error.contains("70368744177664 bytes"), "{error}");
    // And it goes on.
    training(&cuda, 21, &frame(30, &[30, 20])).unwrap();
}

/// What has two owners is copied before one changes it.
#[test]
fn a_changed_output_leaves_the_way_back_alone() {
    let Ok((_turn, cuda)) = shared() else { return };
    let layer = Recurrent { inputs: 2, units: 3, both: true };
    let frame = Frame::new(4, vec![4, 2]);
    let parameters = cuda.upload(wave(layer.parameters(), 0.3, 0.5)).unwrap();
    let x = cuda.upload(wave(16, 0.4, 1.0)).unwrap();
    let dy = cuda.upload(wave(48, 0.4, 1.0)).unwrap();
    let gradients = [false, true].map(|change| {
        let (mut y, trace) = cuda.recurrent(layer, &parameters, 0, &frame, &x).unwrap();
        if change {
            cuda.clear(&mut y).unwrap();
        }
        let mut gradient = cuda.zeros(layer.parameters()).unwrap();
        cuda.recurrent_backward(
            layer,
            &parameters,
            &mut gradient,
            0,
            &frame,
            &x,
            trace,
            &dy,
            false,
        )
        .unwrap();
        cuda.download(&gradient).unwrap()
    });
    assert_eq!(gradients[0], gradients[1]);
}

#[test]
fn wrong_sizes_are_refused() {
    let Ok((_turn, cuda)) = shared() else { return };
    let x = cuda.zeros(10).unwrap();
    let layer = Linear { inputs: 3, outputs: 2 };
    assert!(cuda.linear(layer, &cuda.zeros(8).unwrap(), 0, &x).is_err());
    assert!(cuda.linear(layer, &cuda.zeros(8).unwrap(), 1, &cuda.zeros(9).unwrap()).is_err());
    let frame = Frame::new(2, vec![2, 1]);
    let error = cuda.cross_entropy(&frame, &cuda.zeros(12).unwrap(), 3, &[0, 1, 3, 9]).unwrap_err();
    assert_eq!(error.to_string(), "label 3 at place 2, where there are 3 classes");
}
