//! Values element by element: what stands at an index of a tensor, as a scalar expression over the index.
//!
//! A tensor is a function of its index. A view or a copy that moves elements only changes the index; `cat` and `pad` choose by it; a
//! pointwise operator is applied at it; whatever else is computed is a call whose elements are looked up. Two ways to write one movement
//! are then one expression, and two expressions that are equal as structures are equal element by element, bit by bit.
//!
//! - `index`: index arithmetic, sums of products with division and remainder; `arena`: expressions, each stored once;
//! - `make`: the one way to make an expression: every rule on scalars is applied there, `arith`, `cast`, `compare`, `choose`, `integer`,
//!   `reduce`, `sorted`, `permutation` holding one family each;
//! - `rebuild`: an expression at another index, or where something is known;
//! - `bounds`: between which integers the data lies; `order`: between which numbers floats lie that are compared; `numbers`: whether they are numbers;
//! - `lattice`: the greater and the lesser of integers, however they are nested; `pick`: choices that are one of these; `held`: bounds of what becomes an integer; `quantised`: order and sign beside what is cut to one;
//! - `rising`: functions that keep order; `scales`: powers of two, and factors that are divided by again;
//! - `divided`: dimensions that are reduced as one, or as two;
//! - `equal`: whether two expressions are equal: congruence, then by cases; `bits`: integers bit by bit; `exhaust`: all values of few bits.
//!
//! Promises: (1) every rule holds for all elements, NaN, infinities and -0.0 included (payloads of NaN aside, and never through a bit
//! view), and for all sizes, 0 and 1 included: an index stands for a place that is there; (2) nothing is rounded, dropped or moved
//! across a rounding; (3) nothing recurses on the depth of an expression; (4) work is bounded, running out is "not shown".
//! Leaves which operator means which expression to `rules::meaning`, raising and sharing of memory to `verify`.

pub mod arena;
pub mod arith;
mod below;
pub mod bits;
pub mod bounds;
pub mod cast;
pub mod choose;
pub mod compare;
mod divided;
pub mod equal;
mod exhaust;
mod held;
pub mod index;
pub mod integer;
pub mod lattice;
pub mod make;
pub mod numbers;
pub mod order;
pub mod permutation;
mod pick;
pub mod places;
mod quantised;
pub mod rebuild;
pub mod reduce;
pub mod rising;
mod scales;
pub mod sorted;
