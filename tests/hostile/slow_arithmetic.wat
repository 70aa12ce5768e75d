;; Computes square roots without end.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (local f64) (local.set 2 (f64.const 1e300)) (loop $again (local.set 2 (f64.sqrt (f64.div (local.get 2) (f64.const 1.0000001)))) (br $again)) unreachable)
