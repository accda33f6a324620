//! What a strategy of your own needs: implement [`Group`], and give it to a
//! [`Planner`](crate::Planner).

pub use crate::{
    base::rng::{Purpose, Rng, Stream},
    limit::capacity::{Open, Row},
    limit::resolved::ResolvedBudget,
    order::groups::{Drawn, Groups},
    strategy::group::Group,
};
