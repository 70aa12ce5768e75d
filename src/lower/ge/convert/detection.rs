//! Boxes: torchvision's operators.

use super::args::Args;
use super::cx::Cx;
use super::{Entry, Made, Rule, direct};
use crate::lower::ge::builder::Attr;
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;

use Rule::By;

pub(super) const TABLE: &[Entry] =
    &[("torchvision.nms.default", By(suppressed)), ("torchvision.roi_align.default", By(aligned))];

/// As many boxes as there are may be left.
fn suppressed(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "dets scores iou_threshold")?;
    let (boxes, scores) = (args.tensor("dets")?, args.tensor("scores")?);
    let most = match cx.fixed_sizes(boxes)?.as_deref() {
        Some([count, _]) => cx.constant(Literal::Int(*count), DataType::Int32)?,
        _ => {
            let sizes = cx.shape32(boxes)?;
            cx.element(sizes, 0)?
        }
    };
    let least = cx.constant(Literal::Float(f64::from(f32::MIN)), DataType::Float)?;
    let overlap = cx.cast(args.get("iou_threshold"), DataType::Float)?;
    let inputs = vec![boxes.into(), scores.into(), most.into(), overlap.into(), least.into()];
    let kept = cx.op("NonMaxSuppressionV3", inputs, &[])?;
    Ok(cx.always_cast(kept, DataType::Int64)?.into())
}

fn aligned(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "input rois spatial_scale pooled_height pooled_width sampling_ratio aligned")?;
    let attrs = [
        // None given: as many as fit.
        ("sample_num", Attr::Int(args.int("sampling_ratio")?.unwrap_or(0).max(0))),
        // Half a pixel to the left, or none.
        ("roi_end_mode", Attr::Int(if args.flag("aligned")? { 2 } else { 0 })),
    ];
    direct::make(cx, &args, "ROIAlign(input, rois; spatial_scale, pooled_height, pooled_width)", &attrs)
}
