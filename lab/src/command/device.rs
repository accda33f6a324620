//! What trainings run on: the processor, or CUDA devices.

use lengthwise_lab::{Error, Outcome, Session, Watch, collective::Collective};
use lengthwise_nn::{Cpu, Engine};

use super::args::Device;

/// What trainings run on.
#[derive(Debug)]
pub(super) enum Machine {
    Cpu,
    /// One engine for each device, which workers share.
    #[cfg(feature = "cuda")]
    Cuda(Vec<lengthwise_nn::Cuda>),
}

impl Machine {
    /// What was asked for, for workers of these ranks on this machine: CUDA devices where there are any,
    /// and the processor where there is none and none was asked for.
    #[cfg(feature = "cuda")]
    pub(super) fn new(device: Device, ranks: std::ops::Range<usize>) -> Result<Self, Error> {
        use lengthwise_nn::Cuda;
        if device == Device::Cpu {
            return Ok(Self::Cpu);
        }
        let engines = Cuda::count().and_then(|count| {
            // No more than are used.
            let mut ordinals: Vec<usize> = ranks.take(count).map(|rank| rank % count).collect();
            if ordinals.is_empty() {
                ordinals.push(0);
            }
            ordinals.into_iter().map(Cuda::new).collect()
        });
        match engines {
            Ok(engines) => Ok(Self::Cuda(engines)),
            Err(_) if device == Device::Auto => Ok(Self::Cpu),
            Err(error) => {
                Err(Error::new(error.to_string(), "`--device cpu` trains on the processor"))
            }
        }
    }

    /// The processor: this program was built without CUDA.
    #[cfg(not(feature = "cuda"))]
    pub(super) fn new(device: Device, _: std::ops::Range<usize>) -> Result<Self, Error> {
        if device == Device::Cuda {
            return Err(Error::new(
                "this program was built without CUDA",
                "build it with `--features cuda`, or say `--device cpu`",
            ));
        }
        Ok(Self::Cpu)
    }

    /// How many workers it serves at a time without one being in another's way, where each uses so many
    /// of these threads.
    pub(super) fn places(&self, threads: usize, each: usize) -> usize {
        match self {
            Self::Cpu => threads.div_ceil(each),
            #[cfg(feature = "cuda")]
            Self::Cuda(engines) => engines.len(),
        }
    }

    /// What it is, for people.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Cpu => Cpu.name(),
            #[cfg(feature = "cuda")]
            Self::Cuda(engines) => match &engines[..] {
                [engine] => engine.name(),
                several => format!("{} devices, {}", several.len(), several[0].name()),
            },
        }
    }

    /// Trains as one of the workers.
    pub(super) fn run(
        &self,
        session: &Session,
        world: &dyn Collective,
        watch: &mut dyn Watch,
    ) -> Result<Option<Outcome>, Error> {
        match self {
            Self::Cpu => session.run(&Cpu, world, watch),
            #[cfg(feature = "cuda")]
            Self::Cuda(engines) => {
                session.run(&engines[world.rank() % engines.len()], world, watch)
            }
        }
    }
}
