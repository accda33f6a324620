//! Planners: lengths and settings, checked once, that plan one epoch after another.

use std::sync::Arc;

use lengthwise::{
    Budget, Settings, Shapes, Steps, Strategy, Update,
    groups::{OneKind, Together},
    shard::Shard,
    tune::{Like, Model, batches_only, recommend_in},
};
use pyo3::prelude::*;

use crate::error::{Failure, Result};
use crate::groups::{Groups, Kinds, Weights};
use crate::interrupt::{Stop, perhaps_long};
use crate::lengths::{Column, Lengths, Named, Sequences};
use crate::memory::Memory;
use crate::pickle::{Reduced, from_json, reduced, to_json};
use crate::plan::Plan;
use crate::settings::{Given, at_least_one, budget_like, given, plain, text};
use crate::statistics::Statistics;
use crate::tune::wanted;

/// Plans epoch after epoch. The same lengths, settings, seed and epoch give the same plan on every
/// machine.
///
/// Strings such as "padded:20000" have the form that the command line uses. `lengthwise.explain()`
/// lists the pages that describe them.
///
/// A planner keeps up to 24 bytes per sequence of memory, so that later epochs are planned faster.
///
/// Args:
///     `lengths`: The length of each sequence: a list, an array, a tensor, a column of a table or of a
///         dataset, or `Lengths`.
///     `strategy`: How sequences are grouped into batches, such as "shuffled", "blurred:blur=0.02" or
///         "packed:capacity=4096". By default, it is what `tune` recommends: usually "proportional", with
///         several micro-batches per optimizer step. It is "shuffled" for shards.
///     `second`: A second length for each sequence, such as the length of its target. By default,
///         sequences have one length.
///     `together`: An id for each sequence: those with the same id stay in one batch or packed row, and those with
///         `None` are independent. Examples are preference pairs and the turns of a dialogue. By default, all sequences
///         are independent.
///     `share`: What sequences with the same id share: "batch", or "rank" if they may be in different batches
///         of one rank in one optimizer step, for the strategies "proportional" and "packed". The default is "batch".
///     `kind`: Another id for each sequence, such as its language: a batch has sequences of one kind only. By default,
///         all kinds mix.
///     `one_kind`: What has sequences of one kind only: every "batch", or every "step" of all ranks too. The default
///         is "batch".
///     `mix`: How much of every kind an epoch has: a dict of kinds and weights, such as `{"en": 0.7, "de": 0.3}`. An epoch
///         has as many sequences, or groups, as before; a kind with more than it has is repeated, and of one with less
///         every epoch has others. By default, every sequence occurs once.
///     `budget`: The hard limit of a batch: a number of sequences, or a string such as "padded:20000"
///         (cells, padding included), "sequences:16", "dynamic:16" or "cost:encoder,limit=0.05"
///         (seconds). It has no default, except that the capacity of "packed:capacity=4096" is a budget, and
///         that `like` makes one.
///     `shapes`: Which batch lengths may occur: "exact" (the longest sequence of the batch), "multiple:8"
///         (rounded up), "ladder:16" (the 16 lengths that pad the least) or "ladder:100/200/400" (these
///         lengths). By default, it is what `tune` recommends, and "exact" if you give a strategy.
///     `arrange`: The order of the batches in the epoch: "spread" (random, with short and long batches in
///         proportion in every part of the epoch; every sequence is at every place equally often),
///         "shuffled", "short-first", "long-first" or "as-built". The default is "spread".
///     `over_long`: What happens to a sequence that exceeds the budget alone: "error", "alone" (a batch of
///         its own), "drop" or "truncate" (you cut it to the batch length). The default is "error".
///     `steps`: Which batches the ranks process in the same step: "stratified" (each step is a sample of
///         all lengths), "aligned" (batches that take about the same time) or "in-order". By default, the
///         arrangement and the budget decide.
///     `tail`: What happens to the last batches if they do not fill a step: "split" (divided among the
///         ranks), "repeat" (the step is filled with batches that were used before) or "drop". The default
///         is "split".
///     `cost_model`: How long a batch takes: a `CostModel`, the name of a preset ("recurrent", "encoder"
///         or "paper-2"), coefficients such as "a=0.001,c=1e-9", or a file that `CostModel.load` reads.
///         By default, it is the model of a "cost" budget. Without one, time is proportional to cells, or
///         to the batch length if steps are "aligned".
///     `accumulate`: Gradient-accumulation steps per rank: how many batches each rank processes for one
///         optimizer step. By default, it is what `tune` recommends, and 1 if you give a strategy.
///     `canonical_ranks`: How many batches one optimizer step has over all ranks, for every world size that
///         divides this number: training then takes the same steps on 1 rank as on 8. It replaces
///         `accumulate`. By default, a step has `accumulate` batches for each rank.
///     `update`: How much data one optimizer step has over all ranks, such as "tokens:100000" or
///         "sequences:256". It decides how many batches each rank processes for one optimizer step, and
///         replaces `accumulate`. On several ranks, also give `canonical_ranks`. By default, a step has
///         `accumulate` batches for each rank.
///     `like`: The batch size that you train with today, such as 32: the budget of equal memory. With
///         "32,keep=steps", an epoch also keeps its number of optimizer steps. By default, `budget` decides.
///     `model`: The model that you train, for the recommendation: "attention", "recurrent", "packed" (it
///         takes several sequences in one row), or how long its steps take, as for `cost_model`. The default
///         is "attention".
///     `constant_steps`: Whether every epoch has the same number of steps, for trainers that ask for it
///         only once. The default is false.
///     `seed`: The seed of all random choices, from 0 to 2⁶⁴ − 1. The default is 0.
///     `statistics`: The `Statistics` of all shards, if `lengths` are one shard of a larger dataset. By
///         default, `lengths` are all there is.
///     `shard`: The number of this shard, from 0. Give it together with `shards`; by default, there is
///         one shard.
///     `shards`: The number of shards. By default, there is one.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Planner {
    planner: lengthwise::Planner<Strategy>,
    lengths: Arc<lengthwise::Lengths>,
    named: Named,
    memory: Arc<Memory>,
    /// The batch lengths of the ladder in ascending order; `None` if the shapes are not a ladder.
    #[pyo3(get)]
    rungs: Option<Vec<u32>>,
}

#[pymethods]
impl Planner {
    #[new]
    #[pyo3(signature = (
        lengths,
        strategy = None,
        *,
        second = None,
        together = None,
        share: "str" = "batch",
        kind = None,
        one_kind: "str" = "batch",
        mix = None,
        budget = None,
        shapes = None,
        arrange: "str" = "spread",
        over_long: "str" = "error",
        steps = None,
        tail: "str" = "split",
        cost_model = None,
        accumulate = None,
        canonical_ranks = None,
        update = None,
        like = None,
        model = None,
        constant_steps: "bool" = false,
        seed: "SupportsIndex" = 0,
        statistics = None,
        shard = None,
        shards = None,
    ))]
    #[allow(clippy::similar_names, reason = "they are called as on the command line")]
    fn new(
        py: Python<'_>,
        lengths: Given<Sequences>,
        strategy: Option<Given<Strategy>>,
        second: Option<Column>,
        together: Option<Given<Groups>>,
        #[pyo3(from_py_with = text)] share: &str,
        kind: Option<Given<Kinds>>,
        #[pyo3(from_py_with = text)] one_kind: &str,
        mix: Option<Given<Weights>>,
        budget: Option<Given<Budget>>,
        shapes: Option<Given<Shapes>>,
        #[pyo3(from_py_with = text)] arrange: &str,
        #[pyo3(from_py_with = text)] over_long: &str,
        steps: Option<Given<Steps>>,
        #[pyo3(from_py_with = text)] tail: &str,
        cost_model: Option<Given<lengthwise::CostModel>>,
        accumulate: Option<Given<u32>>,
        canonical_ranks: Option<Given<u32>>,
        update: Option<Given<Update>>,
        like: Option<Given<Like>>,
        model: Option<Given<Model>>,
        #[pyo3(from_py_with = plain)] constant_steps: bool,
        #[pyo3(from_py_with = plain)] seed: u64,
        statistics: Option<PyRef<'_, Statistics>>,
        shard: Option<Given<u32>>,
        shards: Option<Given<u32>>,
    ) -> Result<Self> {
        let Sequences(lengths, named) = lengths.0.with(second, together, kind)?;
        let mix = given(mix).map(|mix| mix.of(named.kinds.as_ref())).transpose()?;
        let (share, one_kind): (Together, OneKind) = (share.parse()?, one_kind.parse()?);
        if named.of_items && share == Together::Rank {
            let what = "an item of several sequences is in one batch, and `share` is \"rank\"";
            return Err(Failure::setting(what, "give the sequences themselves, with `together`"));
        }
        let accumulate = given(accumulate);
        accumulate.map_or(Ok(()), |each| at_least_one("accumulate", each))?;
        let canonical_ranks = given(canonical_ranks);
        canonical_ranks.map_or(Ok(()), |ranks| at_least_one("canonical_ranks", ranks))?;
        let statistics = statistics.map(|statistics| Arc::clone(&statistics.0));
        let shard = shard_of(given(shard), given(shards))?;
        let (arrange, over_long, tail) = (arrange.parse()?, over_long.parse()?, tail.parse()?);
        perhaps_long(py, lengths.len(), move |stop: &Stop| -> Result<Self> {
            let lengths = match statistics {
                Some(all) => Arc::new(lengthwise::Lengths::clone(&lengths).part_of(all)?),
                None => lengths,
            };
            let (strategy, shapes, like) = (given(strategy), given(shapes), given(like));
            let own = || strategy.as_ref().and_then(Strategy::own_budget);
            let budget = budget_like(budget, like)?.or_else(own).ok_or_else(|| {
                let hint = "give one, as in budget=\"padded:20000\"";
                Failure::setting("there is no budget to limit the batches", hint)
            })?;
            if strategy.is_some() {
                one_number_of_batches(accumulate.unwrap_or(1), canonical_ranks)?;
            }
            let update = given(update);
            if let (Some(each), Some(update)) = (accumulate.filter(|&each| each > 1), update) {
                let what = format!("both `accumulate` ({each}) and `update` ({update}) are given");
                return Err(Failure::setting(what, "give one of them"));
            }
            let ranks = canonical_ranks.unwrap_or(1);
            let settings = Settings {
                arrange,
                over_long,
                steps: given(steps),
                tail,
                cost_model: given(cost_model),
                accumulate: accumulate.unwrap_or(1),
                canonical_ranks,
                update: update.or(like.and_then(|like| like.update(ranks))),
                shard,
                share,
                one_kind,
                mix,
                seed,
                ..Settings::new("", budget)
            };
            // Steps are planned where all lengths are at hand.
            let steps = lengths.statistics().is_none();
            let mut planner = if strategy.is_none() && steps {
                let settings = Settings { accumulate: 1, ..settings };
                let mut wanted = wanted(settings, given(model), like, ranks);
                (wanted.shapes, wanted.micro_batches) = (shapes, accumulate);
                let found = recommend_in(&stop.workspace(), &lengths, &wanted)?;
                lengthwise::Planner::named(found.best().settings.clone())?
            } else {
                let (strategy, shapes) = batches_only(&lengths, budget, strategy, shapes)?;
                let planner = lengthwise::Planner::with(strategy, Settings { shapes, ..settings });
                // Groups that share a rank share it in planned steps.
                if share == Together::Rank { planner.for_ranks(ranks) } else { planner }
            };
            if constant_steps {
                planner = planner.constant_steps(&lengths)?;
            }
            Self::of(planner, lengths, named)
        })?
    }

    /// Returns the plan of one epoch. `epoch` is a number from 0, which is also the default.
    #[pyo3(signature = (epoch: "SupportsIndex" = 0))]
    fn plan(&self, py: Python<'_>, #[pyo3(from_py_with = plain)] epoch: u64) -> Result<Plan> {
        let (planner, lengths) = (self.planner.clone(), Arc::clone(&self.lengths));
        let memory = Arc::clone(&self.memory);
        let plan = perhaps_long(py, lengths.len(), move |stop| {
            memory.lend(stop, |workspace| planner.plan_in(workspace, &lengths, epoch))
        })?;
        Ok(Plan::of_planner(plan?, &self.lengths, &self.memory))
    }

    /// Returns what this shard needs. Merge the needs of all shards into the statistics: they then say
    /// how many batches every shard processes.
    fn needs(&self, py: Python<'_>) -> Result<Statistics> {
        let (planner, lengths) = (self.planner.clone(), Arc::clone(&self.lengths));
        let needs = perhaps_long(py, lengths.len(), move |_| planner.needs(&lengths))?;
        Ok(Statistics(Arc::new(needs?)))
    }

    /// The lengths.
    #[getter]
    fn lengths(&self) -> Lengths {
        Lengths(Arc::clone(&self.lengths), self.named.clone())
    }

    fn __repr__(&self) -> String {
        let Settings { strategy, budget, shapes, seed, shard, .. } = self.planner.settings();
        let part = shard
            .map_or_else(String::new, |Shard { number, of }| format!(", shard {number} of {of}"));
        format!(
            "Planner({} sequences; strategy {strategy}, budget {budget}, shapes {shapes}, seed \
             {seed}{part})",
            self.lengths.len()
        )
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, lengths: &Lengths, settings: &str) -> Result<Self> {
        let settings: Settings = from_json(settings, "Planner")?;
        let Lengths(lengths, named) = lengths;
        let (lengths, named) = (Arc::clone(lengths), named.clone());
        perhaps_long(py, lengths.len(), move |_: &Stop| -> Result<Self> {
            Self::of(lengthwise::Planner::named(settings)?, lengths, named)
        })?
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, (Lengths, String)>> {
        reduced::<Self, _>(py, (self.lengths(), to_json(self.planner.settings())?))
    }
}

/// Refuses two numbers of batches for a step.
fn one_number_of_batches(accumulate: u32, canonical_ranks: Option<u32>) -> Result<()> {
    if canonical_ranks.is_none() || accumulate == 1 {
        return Ok(());
    }
    Err(Failure::setting(
        "`accumulate` and `canonical_ranks` are both given",
        "give one of them: canonical ranks say how many batches a step has on any number of ranks",
    ))
}

/// The shard that two arguments say together.
fn shard_of(shard: Option<u32>, shards: Option<u32>) -> Result<Option<Shard>> {
    match (shard, shards) {
        (Some(shard), Some(shards)) => Ok(Some(Shard::new(shard, shards)?)),
        (None, None) => Ok(None),
        _ => Err(Failure::setting(
            "one of `shard` and `shards` is given, and not the other",
            "say which shard it is, and of how many",
        )),
    }
}

impl Planner {
    fn of(
        planner: lengthwise::Planner<Strategy>,
        lengths: Arc<lengthwise::Lengths>,
        named: Named,
    ) -> Result<Self> {
        let rungs = planner.rungs(&lengths)?;
        Ok(Self { planner, lengths, named, memory: Arc::default(), rungs })
    }
}
