//! Devices beside the processor.

use lengthwise_lab::{Error, Experiment, Outcome, Session};
use lengthwise_nn::Cpu;

use super::{
    args::{Device, RunArgs},
    progress::Stop,
};

/// Trains on a CUDA device, or on the processor where there is none and none was asked for.
#[cfg(feature = "cuda")]
pub(super) fn go(
    session: &Session,
    experiment: &Experiment,
    args: &RunArgs,
    stop: &Stop,
) -> Result<Outcome, Error> {
    match lengthwise_nn::Cuda::new(0) {
        Ok(engine) => super::go(session, &engine, experiment, args, stop),
        Err(_) if args.device == Device::Auto => super::go(session, &Cpu, experiment, args, stop),
        Err(error) => Err(Error::new(error.to_string(), "`--device cpu` trains on the processor")),
    }
}

/// Trains on the processor: this program was built without CUDA.
#[cfg(not(feature = "cuda"))]
pub(super) fn go(
    session: &Session,
    experiment: &Experiment,
    args: &RunArgs,
    stop: &Stop,
) -> Result<Outcome, Error> {
    if args.device == Device::Cuda {
        return Err(Error::new(
            "this program was built without CUDA",
            "build it with `--features cuda`, or say `--device cpu`",
        ));
    }
    super::go(session, &Cpu, experiment, args, stop)
}
