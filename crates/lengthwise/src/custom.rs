//! Everything for a strategy of your own: implement [`Group`], and give it to a
//! [`Planner`](crate::Planner).

pub use crate::base::rng::{Purpose, Rng, Stream};
pub use crate::limit::capacity::{Open, Row};
pub use crate::limit::resolved::ResolvedBudget;
pub use crate::order::groups::{Drawn, Groups};
pub use crate::strategy::group::Group;
