//! Matrices as slices with sizes and strides, checked when they are made.

use ndarray::{ArrayView2, ArrayView3, ArrayViewMut2, ArrayViewMut3, Axis, ShapeBuilder};

use super::DenseError;

/// A matrix that is read: `rows` x `cols` elements of a slice, any strides (0 repeats).
#[derive(Clone, Debug)]
pub struct Mat<'a, T> {
    pub(super) view: ArrayView2<'a, T>,
}

/// A matrix that is written: no element is named twice.
#[derive(Debug)]
pub struct MatMut<'a, T> {
    pub(super) view: ArrayViewMut2<'a, T>,
}

/// Equally laid out matrices that are read: `batch` x `rows` x `cols`, any strides (0 repeats).
#[derive(Clone, Debug)]
pub struct Batch<'a, T> {
    pub(super) view: ArrayView3<'a, T>,
}

/// Equally laid out matrices that are written: no element is named twice.
#[derive(Debug)]
pub struct BatchMut<'a, T> {
    pub(super) view: ArrayViewMut3<'a, T>,
}

fn refused(sizes: &[usize], strides: &[usize], elements: usize) -> DenseError {
    DenseError::Layout { sizes: sizes.to_vec(), strides: strides.to_vec(), elements }
}

/// Strides as given; of what has no element they do not matter, whatever they are.
fn steps<const N: usize>(sizes: [usize; N], strides: [usize; N]) -> [usize; N] {
    if sizes.contains(&0) { [0; N] } else { strides }
}

impl<'a, T> Mat<'a, T> {
    /// The matrix whose element (r, c) is `data[r * row_stride + c * col_stride]`.
    pub fn new(
        data: &'a [T],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Result<Self, DenseError> {
        match ArrayView2::from_shape([rows, cols].strides(steps([rows, cols], [row_stride, col_stride])), data) {
            Ok(view) => Ok(Self { view }),
            Err(_) => Err(refused(&[rows, cols], &[row_stride, col_stride], data.len())),
        }
    }

    /// The matrix whose rows lie one after the other.
    pub fn row_major(data: &'a [T], rows: usize, cols: usize) -> Result<Self, DenseError> {
        Self::new(data, rows, cols, cols, 1)
    }

    /// Rows and columns exchanged; nothing is moved.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { view: self.view.reversed_axes() }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.view.nrows()
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.view.ncols()
    }
}

impl<'a, T> MatMut<'a, T> {
    /// The matrix whose element (r, c) is `data[r * row_stride + c * col_stride]`; no two may be the same element.
    pub fn new(
        data: &'a mut [T],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Result<Self, DenseError> {
        let elements = data.len();
        match ArrayViewMut2::from_shape([rows, cols].strides(steps([rows, cols], [row_stride, col_stride])), data) {
            Ok(view) => Ok(Self { view }),
            Err(_) => Err(refused(&[rows, cols], &[row_stride, col_stride], elements)),
        }
    }

    /// The matrix whose rows lie one after the other.
    pub fn row_major(data: &'a mut [T], rows: usize, cols: usize) -> Result<Self, DenseError> {
        Self::new(data, rows, cols, cols, 1)
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.view.nrows()
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.view.ncols()
    }
}

impl<'a, T> Batch<'a, T> {
    /// The matrices whose element (b, r, c) is `data[b * strides[0] + r * strides[1] + c * strides[2]]`.
    pub fn new(data: &'a [T], sizes: [usize; 3], strides: [usize; 3]) -> Result<Self, DenseError> {
        match ArrayView3::from_shape(sizes.strides(steps(sizes, strides)), data) {
            Ok(view) => Ok(Self { view }),
            Err(_) => Err(refused(&sizes, &strides, data.len())),
        }
    }

    /// Number of matrices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.view.len_of(Axis(0))
    }

    /// Whether there is no matrix.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a, T> BatchMut<'a, T> {
    /// The matrices whose element (b, r, c) is `data[b * strides[0] + r * strides[1] + c * strides[2]]`, no two the same.
    pub fn new(data: &'a mut [T], sizes: [usize; 3], strides: [usize; 3]) -> Result<Self, DenseError> {
        let elements = data.len();
        match ArrayViewMut3::from_shape(sizes.strides(steps(sizes, strides)), data) {
            Ok(view) => Ok(Self { view }),
            Err(_) => Err(refused(&sizes, &strides, elements)),
        }
    }
}

impl<T> Batch<'_, T> {
    /// Rows and columns of each exchanged; nothing is moved.
    #[must_use]
    pub fn transposed(mut self) -> Self {
        self.view.swap_axes(1, 2);
        self
    }

    /// All elements, matrix by matrix and row by row.
    pub fn elements(&self) -> impl Iterator<Item = &T> {
        self.view.iter()
    }

    /// The matrices, one by one.
    pub fn matrices(&self) -> impl Iterator<Item = Mat<'_, T>> {
        self.view.outer_iter().map(|view| Mat { view })
    }
}

impl<T> BatchMut<'_, T> {
    /// The matrices, one by one, to be written.
    pub fn matrices_mut(&mut self) -> impl Iterator<Item = MatMut<'_, T>> {
        self.view.outer_iter_mut().map(|view| MatMut { view })
    }
}

impl<T: Copy> MatMut<'_, T> {
    /// Replaces each element by `f` of the value at its row-major place in `values` and itself.
    pub fn update(&mut self, values: &[T], f: impl Fn(T, T) -> T) {
        for (slot, value) in self.view.iter_mut().zip(values) {
            *slot = f(*value, *slot);
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_may_repeat_a_row_but_not_reach_outside() {
        let data = [1.0_f32; 6];
        assert!(Mat::new(&data, 100, 6, 0, 1).is_ok());
        assert!(Mat::new(&data, 2, 3, 3, 1).is_ok());
        assert!(Mat::new(&data, 2, 3, 4, 1).is_err());
        assert!(Mat::new(&data, 0, 3, 4, 1).is_ok());
        assert!(Mat::new(&data, 0, 1000, 1000, 1).is_ok());
        assert!(Mat::new(&data, usize::MAX, 3, usize::MAX, 2).is_err());
    }

    #[test]
    fn a_written_matrix_names_no_element_twice() {
        let mut data = [1.0_f32; 6];
        assert!(MatMut::new(&mut data, 2, 3, 0, 1).is_err());
        assert!(MatMut::new(&mut data, 3, 2, 1, 3).is_ok());
        let refusal = MatMut::new(&mut data, 2, 3, 1, 1).unwrap_err();
        assert_eq!(refusal.to_string(), "sizes [2, 3] with strides [1, 1] do not describe a part of 6 elements");
    }
}
