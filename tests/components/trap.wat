;; Traps.
;; against: lives
;; ends: fault trap in run: unreachable
(func $oops unreachable)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call $oops) unreachable)
