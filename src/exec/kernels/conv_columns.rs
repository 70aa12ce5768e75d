//! Transposed convolution by columns, rounded at every step: how PyTorch computes it in `f16` where processors have no such arithmetic.
//!
//! What each input position gives to a window is a product of matrices, rounded; windows are added to the result one by one, each sum
//! rounded; the bias comes last.

use crate::exec::dense::gemm::gemm;
use crate::exec::dense::{Mat, MatMut};
use crate::exec::kernels::matmul::refused;
use crate::exec::tensor::lane::round_f32;
use crate::exec::tensor::shape;
use crate::graph::Dtype;
use crate::ops::CallFault;

/// Sizes of a transposed convolution; three spatial dimensions, right-aligned.
pub struct Columns {
    /// Images.
    pub batch: usize,
    /// Into how many groups channels are divided.
    pub groups: usize,
    /// Input channels of a group.
    pub takes: usize,
    /// Output channels of a group.
    pub gives: usize,
    /// Input sizes.
    pub input: [usize; 3],
    /// Window sizes.
    pub kernel: [usize; 3],
    /// Output sizes.
    pub output: [usize; 3],
    /// Steps between windows.
    pub stride: [usize; 3],
    /// What is cut off on either side.
    pub padding: [usize; 3],
    /// Steps between a window's elements.
    pub dilation: [usize; 3],
}

/// Indices of a row-major number.
fn index(mut n: usize, sizes: &[usize; 3]) -> [usize; 3] {
    let mut at = [0; 3];
    for (slot, size) in at.iter_mut().zip(sizes).rev() {
        *slot = n.checked_rem(*size).unwrap_or(0);
        n = n.checked_div(*size).unwrap_or(0);
    }
    at
}

impl Columns {
    /// Where an element of a window lies in the result, if it lies inside.
    fn target(&self, position: &[usize; 3], tap: &[usize; 3]) -> Option<usize> {
        let mut flat = 0_usize;
        for axis in 0..3 {
            let start = position.get(axis)?.checked_mul(*self.stride.get(axis)?)?;
            let reach = tap.get(axis)?.checked_mul(*self.dilation.get(axis)?)?;
            let at = start.checked_add(reach)?.checked_sub(*self.padding.get(axis)?)?;
            let size = *self.output.get(axis)?;
            if at >= size {
                return None;
            }
            flat = flat.checked_mul(size)?.checked_add(at)?;
        }
        Some(flat)
    }

    /// Computes the result, channels first; `input` and `weight` are in row-major order.
    pub fn run(
        &self,
        dtype: Dtype,
        input: &[f32],
        weight: &[f32],
        bias: Option<&[f32]>,
        out: &mut [f32],
    ) -> Result<(), CallFault> {
        let (positions, taps) = (shape::numel(&self.input), shape::numel(&self.kernel));
        let plane = shape::numel(&self.output).max(1);
        let rows = self.gives.saturating_mul(taps);
        let mut columns = vec![0.0; rows.saturating_mul(positions)];
        let groups = self.batch.saturating_mul(self.groups);
        let results = out.chunks_mut(plane.saturating_mul(self.gives).max(1)).take(groups);
        for (n, out) in results.enumerate() {
            let group = n.checked_rem(self.groups).unwrap_or(0);
            let (x, w) = (self.takes.saturating_mul(positions), self.takes.saturating_mul(rows));
            let x = input.get(n.saturating_mul(x)..).unwrap_or(&[]);
            let w = weight.get(group.saturating_mul(w)..).unwrap_or(&[]);
            let (a, b) = (Mat::new(w, rows, self.takes, 1, rows), Mat::row_major(x, self.takes, positions));
            let target = MatMut::row_major(&mut columns, rows, positions).map_err(refused)?;
            gemm(1.0, &a.map_err(refused)?, &b.map_err(refused)?, 0.0, target).map_err(refused)?;
            self.scatter(dtype, &columns, out);
            let biases = bias.map(|b| b.iter().skip(group.saturating_mul(self.gives)));
            for (plane, b) in out.chunks_mut(plane).zip(biases.into_iter().flatten()) {
                plane.iter_mut().for_each(|o| *o = round_f32(dtype, *o + b));
            }
        }
        Ok(())
    }

    fn scatter(&self, dtype: Dtype, columns: &[f32], out: &mut [f32]) {
        let (positions, taps) = (shape::numel(&self.input).max(1), shape::numel(&self.kernel));
        let plane = shape::numel(&self.output);
        for (row, line) in columns.chunks(positions).enumerate() {
            let channel = row.checked_div(taps).unwrap_or(0);
            let tap = index(row.checked_rem(taps).unwrap_or(0), &self.kernel);
            for (position, value) in line.iter().enumerate() {
                let at = self.target(&index(position, &self.input), &tap);
                let slot = at.and_then(|at| out.get_mut(channel.saturating_mul(plane).saturating_add(at)));
                slot.into_iter().for_each(|o| *o = round_f32(dtype, *o + round_f32(dtype, *value)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_added_one_by_one_and_rounded() {
        let line = Columns {
            batch: 1,
            groups: 1,
            takes: 1,
            gives: 1,
            input: [1, 1, 2],
            kernel: [1, 1, 2],
            output: [1, 1, 3],
            stride: [1; 3],
            padding: [0; 3],
            dilation: [1; 3],
        };
        let mut out = [0.0; 3];
        // 2048 + 1 is no f16: the sum in the middle stays even.
        line.run(Dtype::F16, &[1.0, 2048.0], &[1.0, 1.0], Some(&[0.5]), &mut out).unwrap();
        assert_eq!(out, [1.5, 2048.0, 2048.0]);
    }
}
